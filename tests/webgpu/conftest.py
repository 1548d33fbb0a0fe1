"""What tests share: registries put back, files registered as kernels, and a device by its rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import GPU
from wgsl_kernels.backends.webgpu.devices import adapters
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.registry import registry, signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Run = Callable[..., wk.Tensor]


@pytest.fixture(params=["by its own rules", "by those of a GPU"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Give a device, once by its adapter's rules and once by those of a GPU."""
    if "GPU" in request.param:
        monkeypatch.setattr(adapters, "policy_of", lambda info: GPU)
    device = Device()
    yield device
    device.close()


@pytest.fixture
def registries_as_before() -> Iterator[None]:
    """Run the test on webgpu, and put back what it registers."""
    tables: Any = (registry._kernels, signature._signatures)
    before = [dict(one) for one in tables]
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    registry.announce_change()


@pytest.fixture
def scan(tmp_path: Path, registries_as_before: None) -> Callable[..., Run]:
    """Give a function that registers a user's file as a scan and returns how to run it."""

    def register(text: str, dtype: str | None = None) -> Run:
        file = tmp_path / "running.wgsl"
        file.write_text(text)

        def shape_of(
            x: Any,
            /,
            *,
            axis: int = 0,
            exclusive: bool = False,
            reverse: bool = False,
            above: float = 0.0,
        ) -> Any:
            return x.like(dtype=dtype)

        wk.signature("Running", override=True)(shape_of)
        wk.wgsl_kernel("Running", str(file), form="scan", override=True)

        def run(x: Any, **attrs: Any) -> wk.Tensor:
            found = wk.engine().run_kernel("Running", {"x": x}, attrs)
            assert isinstance(found, wk.Tensor)
            return found

        return run

    return register


@pytest.fixture
def window(tmp_path: Path, registries_as_before: None) -> Callable[[str], Run]:
    """Give a function that registers a user's file as a window and returns how to run it."""

    def register(text: str) -> Run:
        file = tmp_path / "seen.wgsl"
        file.write_text(text)
        wk.wgsl_kernel("Seen", str(file), form="window", override=True)

        def run(x: Any, size: Any, **attrs: Any) -> wk.Tensor:
            found = wk.engine().run_kernel("Seen", {"x": x}, {"filter_size": size, **attrs})
            assert isinstance(found, wk.Tensor)
            return found

        return run

    return register
