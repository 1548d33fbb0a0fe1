"""Kernels that one test registers, and that are gone after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def own_kernels() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


def registered(
    name: str, cpu: Callable[..., Any], shader: str, rule: Callable[..., Any], **options: Any
) -> Callable[..., Any]:
    """Register a kernel, and return what runs it."""
    wk.register_kernel(name, "cpu", cpu, signature=rule)
    wk.wgsl_kernel(name, shader, **options)
    return lambda *xs, **attrs: wk.run(name, *xs, **attrs)
