"""From one dtype to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact, takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.dtypes import (
    BYTES,
    DType,
    canonical,
    is_differentiable,
    is_float,
    numpy_dtype,
    tensor_dtype,
)
from wgsl_kernels.ops.rules.numbers import as_int32
from wgsl_kernels.ops.rules.specs import NUMBERS

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.engine.values.spec import Spec


INDICES = 512
"""Bytes up to which what the host has becomes int32 there: indices that are known are checked where
an op is called, not at the next read."""


@public(tfjs="cast", method=True)
def astype(
    x: TensorLike, dtype: DTypeLike, *, copy: bool = True, device: str | None = None
) -> Tensor:
    """Return ``x`` in another dtype.

    Floats become int32 cut toward zero and saturated, NaN 0; int8 and uint8 are that modulo 256.
    What is not 0 becomes True; of complex numbers the real part is taken.

    Args:
        x: Any dtype but strings.
        dtype: A dtype's name, or what NumPy takes as one; int64 and other integers that no tensor
            has become int32.
        copy: Whether the result is another tensor where ``x`` has the dtype; values never change.
        device: The backend that it is on; without one the backend in force.

    Raises:
        DTypeError: Strings meet numbers.

    Example:
        >>> wk.astype([1.7, -1.7], "int32").tolist()
        [1, -1]
    """
    if device is not None:
        with use_backend(device):
            return astype(x, dtype, copy=copy)
    wanted = str(tensor_dtype(dtype))
    is_kept = copy is not True and not flag("astype", "copy", copy)
    if is_kept and isinstance(x, Tensor) and x.dtype == wanted:
        return x
    return run("Cast", x, dtype=wanted)


def as_asked(total: Tensor, dtype: DTypeLike | None) -> Tensor:
    """Return a sum or product in the bytes that its caller asked for; it was counted in int32."""
    is_narrow = dtype is not None and tensor_dtype(dtype) in BYTES
    return astype(total, dtype) if dtype is not None and is_narrow else total


@signature("Cast")
@takes_bytes
@exact(*NUMBERS, *BYTES)
def _cast_signature(x: Spec, /, *, dtype: DType) -> Spec:
    wanted = canonical(dtype)
    if (x.dtype == "string") != (wanted == "string"):
        raise DTypeError(f"Cast: x has dtype {x.dtype}; it cannot become {wanted}.")
    return x.like(dtype=wanted)


@cpu_kernel("Cast")
@silent
def _cast_cpu(x: Array, *, dtype: DType) -> Array:
    wanted = numpy_dtype(canonical(dtype))
    if np.iscomplexobj(x) and wanted.kind != "c":
        x = np.real(x)
    return as_int32(x).astype(wanted) if wanted.kind in "iu" else x.astype(wanted)


@wgsl_kernel("Cast", repeats=False)
def _cast_webgpu(gpu: Gpu, x: GpuArray, *, dtype: DType) -> GpuArray:
    return converted(gpu, x, canonical(dtype))


def converted(gpu: Gpu, x: GpuArray, wanted: DType) -> GpuArray:
    """Return ``x`` in another dtype, or ``x`` itself if it has that."""
    if wanted == x.dtype:
        return x
    if x.dtype == "complex64":
        return converted(gpu, _converted(gpu, "from_complex.wgsl", x, "float32"), wanted)
    if wanted == "complex64":
        return _converted(gpu, "to_complex.wgsl", x, wanted)
    if x.dtype in BYTES and wanted == "int32" and x.host is not None and x.size <= INDICES:
        return gpu.upload(as_int32(x.host.values).reshape(x.shape), wanted)
    if wanted in BYTES:
        return gpu.pack(x if x.dtype in BYTES else converted(gpu, x, "int32"), wanted)
    if wanted == "bool" or (wanted == "int32" and is_float(x.dtype)):
        return _converted(gpu, f"to_{wanted}.wesl", x, wanted)
    return _converted(gpu, "to_real.wgsl", x, wanted)


def _converted(gpu: Gpu, shader: str, x: GpuArray, dtype: DType) -> GpuArray:
    return gpu.map(f"elementwise/cast/{shader}", {"x": x}, x.shape, dtype)


@gradient("Cast")
def _cast_grad(dy: Tensor, x_dtype: DType) -> Tensor:
    return run("Cast", dy, dtype=x_dtype) if is_differentiable(x_dtype) else dy
