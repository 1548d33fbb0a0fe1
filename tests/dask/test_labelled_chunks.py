"""xarray on tensors, in chunks and whole, and zarr: as on NumPy's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array
import dask.config
import numpy as np
import pytest
import xarray as xr
import zarr

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

da: Any = dask.array
pytestmark = [pytest.mark.dask, pytest.mark.xdist_group("dask"), pytest.mark.timeout(120)]

DAYS, ROWS, COLS = 24, 8, 6
T = np.random.default_rng(0).normal(size=(DAYS, ROWS, COLS)).astype(np.float32)
BACKENDS = pytest.mark.parametrize(("name", "device"), [("wgsl-cpu", "cpu"), ("webgpu", "webgpu")])


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def labelled(values: Any) -> Any:
    coords = {"time": np.arange(DAYS), "month": ("time", np.arange(DAYS) % 12)}
    return xr.DataArray(values, dims=("time", "y", "x"), coords=coords)


PROBES: dict[str, Callable[[Any], Any]] = {
    "anomaly": lambda d: d.groupby("month") - d.groupby("month").mean(),
    "coarsen": lambda d: d.coarsen(time=4).mean(),
    "groupby": lambda d: d.groupby("month").max(),
    "std": lambda d: d.std("time"),
    "where": lambda d: d.where(d > 0, 0.0),
    "where, missing": lambda d: d.where(d > 0),
    "mean, skipping": lambda d: d.where(d > 0).mean("time", skipna=True),
    "count": lambda d: d.where(d > 0).count("time"),
    "fillna": lambda d: d.where(d > 0).fillna(1.0),
    "apply_ufunc": lambda d: xr.apply_ufunc(np.tanh, d, dask="parallelized"),
    "dot": lambda d: xr.dot(d, d, dim="time"),
    "concat": lambda d: xr.concat([d, d], dim="time"),
    "isel": lambda d: d.isel(time=[0, 3, 5]),
    "sel": lambda d: d.sel(time=slice(2, 9)),
    "cumsum": lambda d: d.cumsum("time", skipna=False),
    "pad": lambda d: d.pad(time=(1, 2), constant_values=3.0),
    "pad, missing": lambda d: d.pad(x=1),
    "pad, reflected": lambda d: d.pad(time=2, mode="reflect"),
    "roll": lambda d: d.roll(time=2),
    "shift": lambda d: d.shift(time=1),
    "transpose": lambda d: d.transpose("x", "y", "time"),
    "arithmetic": lambda d: (d - d.mean("time")) / d.std("time") + 1,
}
CHUNKED: dict[str, Callable[[Any], Any]] = {
    "rolling": lambda d: d.rolling(time=3).mean(),
    "std, skipping": lambda d: d.where(d > 0).std("time"),
    "quantile": lambda d: d.chunk(time=-1).quantile(0.5, "time", skipna=False),
}


@BACKENDS
@pytest.mark.parametrize("probe", [*PROBES, *CHUNKED])
def test_xarray_computes_on_chunks(probe: str, name: str, device: str) -> None:
    use = (PROBES | CHUNKED)[probe]
    found = use(labelled(da.from_array(T, chunks=(6, 4, 6)).to_backend(name))).data.compute()
    assert isinstance(found, wk.Tensor)
    assert found.device == device
    np.testing.assert_allclose(found, use(labelled(T)), rtol=1e-4, atol=1e-4)


@BACKENDS
@pytest.mark.parametrize("probe", PROBES)
def test_xarray_computes_on_a_tensor(probe: str, name: str, device: str) -> None:
    del name
    with wk.use_backend(device):
        found = PROBES[probe](labelled(wk.tensor(T))).data
    assert isinstance(found, wk.Tensor)
    np.testing.assert_allclose(found, PROBES[probe](labelled(T)), rtol=1e-4, atol=1e-4)


@BACKENDS
def test_zarr_is_read_and_written(name: str, device: str, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "in", data=T, chunks=(6, 4, 6))
    x = da.from_zarr(tmp_path / "in").to_backend(name)
    assert x.compute().device == device
    (x * 2).to_backend("numpy").to_zarr(tmp_path / "out")
    written = zarr.open_array(tmp_path / "out", mode="r")
    assert written.dtype == np.float32
    assert written.chunks == (6, 4, 6)
    np.testing.assert_array_equal(written[:], T * 2)


@pytest.mark.gpu
def test_store_takes_tensors() -> None:
    kept = np.zeros(T.shape, np.float32)
    da.store(da.from_array(T, chunks=5).to_backend("webgpu") * 2, kept)
    np.testing.assert_array_equal(kept, T * 2)
