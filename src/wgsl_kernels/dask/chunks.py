"""Tensors as chunks of ``dask.array``, which stay on the device.

``x.to_backend("webgpu")`` and Dask's configuration ``array.backend`` find the two classes here by
entry points, so nobody imports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.array.backends import ArrayBackendEntrypoint
from dask.array.wrap import wrap_func_shape_as_first_arg
from dask.config import set as configured

import wgsl_kernels as wk
from wgsl_kernels.dask.draws import CpuGenerator, WebgpuGenerator
from wgsl_kernels.dask.tables import register_tables
from wgsl_kernels.engine.tensors.committed import committed
from wgsl_kernels.engine.values.dtypes import tensor_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.dask.draws import ChunkGenerator


_Entrypoint: Any = ArrayBackendEntrypoint  # whose methods are static, which ours are not


class WebgpuChunks(_Entrypoint):  # type: ignore[misc]  # as above
    """Chunks that are put on the backend ``webgpu``, whichever backend is in force.

    Floats become float32 and integers int32 unless a dtype is asked for, as by `wk.tensor`.
    """

    generator: type[ChunkGenerator] = WebgpuGenerator

    def __init__(self) -> None:
        """Have Dask know tensors; it makes one instance."""
        register_tables()

    def to_backend(self, data: Any, **options: Any) -> da.Array:
        """Return ``data`` with its chunks on this backend; one that is there stays as it is."""
        device = self.generator.backend
        meta = moved(np.empty((0,) * data.ndim, data.dtype), device)
        found: da.Array = data.map_blocks(moved, device, dtype=meta.dtype, meta=meta, **options)
        return found

    @property
    def default_bit_generator(self) -> type[ChunkGenerator]:
        """What ``dask.array.random.default_rng`` seeds."""
        return self.generator

    @property
    def RandomState(self) -> type[ChunkGenerator]:  # noqa: N802  Dask's name
        """What ``dask.array.random.RandomState`` and its functions seed."""
        return self.generator

    def ones(self, shape: Any, **options: Any) -> Any:
        """Return ones; see ``dask.array.ones``."""
        return self._made(shape, fill_value=1, **options)

    def zeros(self, shape: Any, **options: Any) -> Any:
        """Return zeros; see ``dask.array.zeros``."""
        return self._made(shape, fill_value=0, **options)

    def empty(self, shape: Any, **options: Any) -> Any:
        """Return zeros; see ``dask.array.empty``."""
        return self._made(shape, fill_value=0, **options)

    def full(self, shape: Any, fill_value: Any, **options: Any) -> Any:
        """Return one value everywhere; see ``dask.array.full``."""
        return self._made(shape, fill_value=fill_value, **options)

    def arange(self, *bounds: Any, dtype: Any = None, **options: Any) -> da.Array:
        """Return evenly spaced numbers; see ``dask.array.arange``."""
        with configured({"array.backend": "numpy"}):
            return self.to_backend(da.arange(*bounds, dtype=dtype, **options))

    def _made(
        self,
        shape: int | Sequence[int],
        *,
        fill_value: Any,
        dtype: Any = None,
        meta: Any = None,
        order: str = "C",
        **options: Any,
    ) -> Any:
        if meta is not None and not isinstance(meta, wk.Tensor):  # such as da.ones_like(x) of NumPy
            with configured({"array.backend": "numpy"}):
                return da.full(shape, fill_value, dtype=dtype, meta=meta, **options)
        del order
        wanted = tensor_dtype("float32" if dtype is None else dtype)
        device = self.generator.backend if meta is None else meta.device
        sample = filled((0,), fill_value=fill_value, dtype=wanted, device=device, meta=None)
        options |= {"dtype": wanted, "device": device, "fill_value": fill_value}
        return wrap_func_shape_as_first_arg(filled, shape, meta=sample, **options)


class CpuChunks(WebgpuChunks):
    """Chunks that are put on the backend ``cpu``, whichever backend is in force."""

    generator = CpuGenerator


def moved(block: Any, device: str) -> wk.Tensor:
    """Return a chunk committed to a backend; a task."""
    if isinstance(block, wk.Tensor):
        return committed(block.to_device(device))
    return committed(wk.tensor(block, device=device))


def filled(shape: Any, *, fill_value: Any, dtype: Any, device: str, meta: Any) -> wk.Tensor:
    """Return a chunk with one value everywhere; a task."""
    del meta  # Dask's
    return committed(wk.full(shape, fill_value, dtype, device=device))
