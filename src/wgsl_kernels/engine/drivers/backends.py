"""The backends by name: registering, choosing and starting them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from wgsl_kernels.engine.drivers.abilities import driver_closing, driver_started
from wgsl_kernels.engine.drivers.driver import Driver, SimpleDriver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import AlreadyRegistered, ArgumentError
from wgsl_kernels.engine.environment.origin import Origin, caller
from wgsl_kernels.engine.registry.registrations import announce_change
from wgsl_kernels.engine.registry.registry import (
    backend_closing,
    backend_started,
    lend_kernels,
)
from wgsl_kernels.engine.values.attributes import text

Priority = int | Callable[[], int | None]


@dataclass(frozen=True)
class _BackendEntry:
    factory: Callable[[], Any]
    priority: Priority
    origin: Origin


_entries: dict[str, _BackendEntry] = {}
_drivers: dict[str, Driver] = {}
_chosen: Driver | None = None
_lock = threading.RLock()


def register_backend(
    name: str,
    factory: Callable[[], Any],
    priority: Priority = 0,
    *,
    override: bool = False,
    kernels_of: str | None = None,
) -> None:
    """Register a backend.

    Args:
        name: The name that kernels and ``set_backend`` use.
        factory: Makes the backend when it is first used; see `engine.drivers.driver.Backend` for
            what it must offer.
        priority: The automatic choice takes the highest. A function is asked when the choice
            is made, and may return None where the backend cannot run here.
        override: Whether an existing backend is replaced (and closed).
        kernels_of: Another backend, whose kernels this one runs where it has none of its own.

    Raises:
        AlreadyRegistered: Another place has registered the name.
    """
    origin = caller()
    with _lock:  # who finds none running meanwhile starts the new one
        present = _entries.get(name)
        if present is not None and not override and not origin.replaces(present.origin):
            raise AlreadyRegistered(
                f"backend {name!r} is already registered by {present.origin}; "
                "pass override=True to replace it."
            )
        if present is not None:
            close_backend(name)
        _entries[name] = _BackendEntry(factory, priority, origin)
        lend_kernels(name, kernels_of)


def backends() -> list[str]:
    """Return the names of the registered backends, in order of registration."""
    return list(_entries)


def find_driver(name: str) -> Driver:
    """Return the running backend ``name``, starting it if need be.

    Raises:
        ArgumentError: No backend has that name.
    """
    found = _drivers.get(text("use_backend", "name", name))
    if found is not None:
        return found
    with _lock:
        if name in _drivers:
            return _drivers[name]
        if name not in _entries:
            known = ", ".join(_entries) or "none"
            raise ArgumentError(f"backend {name!r} is unknown; registered: {known}.")
        made = _entries[name].factory()
        driver = cast("Driver", made) if hasattr(made, "prepare") else SimpleDriver(name, made)
        driver_started(driver)
        _drivers[name] = driver
        backend_started(name, made)
        return driver


def close_backend(name: str) -> None:
    """Close the backend ``name`` if it runs; its tensors can no longer be read."""
    global _chosen
    with _lock:
        driver = _drivers.pop(name, None)
        if driver is None:
            return
        if _chosen is driver:
            _chosen = None
        backend_closing(name)
        driver_closing(driver)
        driver.close()
        announce_change(("backend", name))


def running_drivers() -> list[Driver]:
    """Return the backends that have been started."""
    return list(_drivers.values())


def set_backend(name: str) -> None:
    """Make ``name`` the backend of this process; it starts now.

    Raises:
        ArgumentError: No backend has that name.
    """
    global _chosen
    _chosen = find_driver(name)


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Run the block's ops of this thread or task on backend ``name``.

    Raises:
        ArgumentError: No backend has that name.
    """
    with context.changed(driver=find_driver(name)):
        yield


def get_backend() -> str:
    """Return the name of the backend that ops of this thread run on."""
    return active_driver().name


def active_driver() -> Driver:
    """Return the backend of this thread; the first call chooses the process's."""
    here = context.current().driver
    return here if here is not None else default_driver()


def default_driver() -> Driver:
    """Return the process's backend: as set, else the registered one of highest priority."""
    global _chosen
    if _chosen is None:
        with _lock:
            if _chosen is None:
                _chosen = find_driver(_best())
    return _chosen


def _best() -> str:
    ranked: list[tuple[int, str]] = []
    for name, entry in _entries.copy().items():
        rank = entry.priority() if callable(entry.priority) else entry.priority
        if rank is not None:
            ranked.append((rank, name))
    if not ranked:
        raise ArgumentError("no backend can run here; register one with register_backend.")
    return max(ranked, key=lambda pair: pair[0])[1]
