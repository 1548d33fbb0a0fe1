"""Kernels that run on the host on every backend: through LAPACK, as NumPy calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.dtypes import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

Function = "Callable[..., Array | tuple[Array, ...]]"

ON_HOST: list[str] = []
"""The kernels that `host_kernel` has registered."""


def host_kernel(name: str) -> Callable[[Any], Any]:
    """Register the decorated function, of NumPy arrays, as the kernel ``name`` of both backends.

    On ``webgpu`` its inputs are read and its results uploaded, so no capture holds it. float16 is
    computed in float32. What LAPACK refuses is an `ArgumentError`.
    """

    def register(function: Any) -> Any:
        def on_cpu(*arrays: Array, **attrs: Any) -> Any:
            return _computed(name, function, arrays, attrs)

        def on_webgpu(gpu: Gpu, *arrays: GpuArray, **attrs: Any) -> Any:
            results = on_cpu(*(gpu.read(one) for one in arrays), **attrs)
            if isinstance(results, tuple):
                return tuple(gpu.upload(one, canonical(one.dtype)) for one in results)
            return gpu.upload(results, canonical(results.dtype))

        cpu_kernel(name)(on_cpu)
        dtypes = "float32", "float16", "complex64"
        wgsl_kernel(name, dtypes=dtypes, repeats=False)(on_webgpu)
        ON_HOST.append(name)
        return function

    return register


def _computed(name: str, function: Any, arrays: tuple[Array, ...], attrs: dict[str, Any]) -> Any:
    narrow = arrays[0].dtype == np.float16
    wide = [one.astype(np.float32) if narrow else one for one in arrays]
    try:
        with np.errstate(all="ignore"):
            found = function(*wide, **attrs)
    except np.linalg.LinAlgError as error:
        said = " ".join(str(error).split()).rstrip(".")
        is_acronym = said[1:2].isupper()  # SVD
        raise ArgumentError(
            f"{name}: {said if is_acronym else said[:1].lower() + said[1:]}."
        ) from None
    if isinstance(found, tuple):
        return tuple(_narrowed(one, narrow) for one in found)
    return _narrowed(found, narrow)


def _narrowed(x: Array, narrow: bool) -> Array:
    return np.ascontiguousarray(x.astype(np.float16) if narrow else x).reshape(x.shape)
