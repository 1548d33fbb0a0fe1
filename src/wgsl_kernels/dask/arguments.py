"""Arguments that several functions of this package take, refused in their words."""

from __future__ import annotations

from typing import Any

from distributed import Client

from wgsl_kernels.engine.environment.errors import ArgumentError


def check_client(caller: str, given: Any) -> None:
    """Refuse what is no client of a cluster."""
    if not isinstance(given, Client):
        raise ArgumentError(f"{caller}: client is {given!r}; want a distributed.Client.")


def check_seconds(caller: str, name: str, given: Any) -> None:
    """Refuse what is no time above 0."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given > 0:
        raise ArgumentError(f"{caller}: {name} is {given!r}; want seconds above 0.")


def check_count(caller: str, name: str, given: Any, least: int) -> None:
    """Refuse what is no whole number from ``least`` on."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise ArgumentError(f"{caller}: {name} is {given!r}; want at least {least}.")
