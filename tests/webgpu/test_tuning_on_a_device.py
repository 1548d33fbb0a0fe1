"""What the tuner measures on a device: products, reductions, and what a warm-up meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.kept.kept_files import cache_folder
from wgsl_kernels.backends.webgpu.tuning import tuner as tuning
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.tuning.tuner import Measurement

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    with wk.use_backend("webgpu"):
        tuner = cast("WebGpuBackend", find_driver("webgpu")).tuner
    monkeypatch.setattr(tuner, "_file", None)
    with wk.config.using(tuning="on"):
        yield


def test_a_product_is_measured_once_and_gives_the_same_bits_afterwards() -> None:
    rng = np.random.default_rng(0)
    a, b = (wk.tensor(rng.standard_normal((96, 96)).astype(np.float32)) for _ in range(2))
    backend = cast("WebGpuBackend", find_driver("webgpu"))
    with wk.use_backend("webgpu"), backend.tuner.tuning():
        first, second = wk.matmul(a, b), wk.matmul(a, b)
        assert first.numpy().tobytes() == second.numpy().tobytes()
        with wk.config.using(deterministic=True):
            seen = wk.profile(lambda: wk.matmul(a, b))
            assert [row.kernels for row in seen.dispatches] == [("BatchMatMul",)]
    folder = cache_folder()
    assert folder is not None
    assert len(list(folder.rglob("*.json"))) <= 1


@pytest.fixture
def measured_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Measurement]]]:
    """Use the GPU with time enough, and give what returns the measurements since then."""
    monkeypatch.setattr(tuning, "SECONDS", 60.0)
    with wk.use_backend("webgpu"):
        tuner = cast("WebGpuBackend", find_driver("webgpu")).tuner
        before = len(tuner.measured)
        with tuner.tuning():
            yield lambda: tuner.measured[before:]


def test_a_reduction_is_measured_once_whether_it_was_fused_or_not(
    measured_here: Callable[[], list[Measurement]],
) -> None:
    x = wk.tensor(np.random.default_rng(0).standard_normal((512, 1024)).astype(np.float32))
    fused = wk.sum(x * 2.0, axis=0).numpy()
    measured = measured_here()
    doubled = (x * 2.0).numpy()
    apart = wk.sum(wk.tensor(doubled), axis=0).numpy()
    assert measured_here() == measured

    assert [one.choice.kernel for one in measured] == ["Sum"]
    assert {"rows", "lanes", "columns"} <= measured[0].seconds.keys()
    assert fused.tobytes() == apart.tobytes()
    np.testing.assert_allclose(fused, doubled.sum(axis=0, dtype=np.float64), atol=1e-2)


def test_a_warm_up_measures_where_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SECONDS", 60.0)
    x = wk.tensor(np.random.default_rng(0).standard_normal((600, 700)).astype(np.float32))
    fast = wk.capture(lambda x: wk.max(x, axis=0))
    with wk.use_backend("webgpu"):
        tuner = cast("WebGpuBackend", find_driver("webgpu")).tuner
        before = len(tuner.measured)
        wk.warmup(lambda x: wk.min(x, axis=0), x)
        assert tuner.measured[before:] == []
        wk.warmup(fast, x, tune=True)
        measured = [one.choice.kernel for one in tuner.measured[before:]]
        found = fast(x).numpy()

    assert measured == ["Max"]
    np.testing.assert_array_equal(found, x.numpy().max(axis=0))


@pytest.mark.parametrize(("name", "workgroups"), [("rows", 2), ("lanes", 128), ("columns", 1)])
def test_a_reduction_runs_as_the_variant_that_is_forced(
    name: str, workgroups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((300, 128)).astype(np.float32)
    with wk.use_backend("webgpu"), forced("Sum", name):
        backend: Any = find_driver("webgpu")
        record = backend.open().run
        grids: list[tuple[int, int, int]] = []

        def noted(ready: Any, storages: Any) -> None:
            grids.append(ready.groups)
            record(ready, storages)

        monkeypatch.setattr(backend.open(), "run", noted)
        found = wk.sum(wk.tensor(x), axis=0).numpy()

    assert grids == [(workgroups, 1, 1)]
    np.testing.assert_allclose(found, x.sum(axis=0, dtype=np.float64), atol=1e-4)
