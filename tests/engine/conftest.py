"""What the engine's tests share: a backend to run on, and registries put back after each test."""

from collections.abc import Iterator

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import backends, fallbacks
from wgsl_kernels.engine.registry import gradients, registry, signature


@pytest.fixture(params=["cpu", "webgpu"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test on each backend."""
    with wk.use_backend(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def _registries_as_before() -> Iterator[None]:
    tables = (registry._kernels, signature._signatures, gradients._rules, fallbacks.fallbacks)
    entries = backends._entries
    before = [dict(one) for one in tables]
    before_entries = dict(entries)
    yield
    for name in set(entries) - set(before_entries):
        backends.close_backend(name)
        del entries[name]
    for table, kept in zip(tables, before, strict=True):
        table.clear()  # type: ignore[attr-defined]  # all are dictionaries
        table.update(kept)  # type: ignore[attr-defined]  # of other types each
    registry.announce_change()


@pytest.fixture
def _unchecked() -> Iterator[None]:
    """Have second calls of captured functions run nothing aside: the test counts runs."""
    before = wk.config.capture_check
    wk.config.capture_check = False
    yield
    wk.config.capture_check = before
