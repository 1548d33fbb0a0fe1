"""What the tests of derivation run on, and what they leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _registries_as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


@pytest.fixture(params=["cpu", pytest.param("webgpu", marks=pytest.mark.gpu), "simulator"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
