"""Numbers of few bits that bytes hold, widened by what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import takes_bytes
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.quantization.kinds import KINDS, kind_of, unpacked

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public()
def widen(x: TensorLike, *, kind: str, size: int | None = None) -> Tensor:
    """Return the numbers of a narrow type that bytes hold.

    On webgpu this is fused with what reads it, as casts of bytes are: the memory that it takes is
    that of ``x``.

    Args:
        x: [..., bytes], uint8. The first number is in a byte's lowest bits; one of 16 bits is in
            two bytes, the lower one first.
        kind: What the numbers are, by ``ml_dtypes``' names: ``"int2"``, ``"uint2"``, ``"int4"``,
            ``"uint4"``, ``"int8"``, ``"uint8"``, ``"int16"``, ``"uint16"``, ``"bfloat16"``,
            ``"float4_e2m1fn"``, ``"float8_e4m3fn"``, ``"float8_e4m3fnuz"``, ``"float8_e5m2"``,
            ``"float8_e5m2fnuz"`` or ``"float8_e8m0fnu"``.
        size: How many numbers the last axis has; as many as the bytes hold, if left out.

    Returns:
        [..., size], int32 of integers and float32 of floats.

    Raises:
        ArgumentError: There is no such kind, or the bytes do not hold so many numbers.
        DTypeError: ``x`` is not uint8.
        ShapeError: ``x`` is a scalar.

    Example:
        >>> wk.widen(np.array([0x2F, 0x08], np.uint8), kind="int4", size=3).tolist()
        [-1, 2, -8]

    Source: OCP 8-bit Floating Point Specification, 2023; OCP Microscaling Formats, 2023.
    """
    return run("Widen", x, kind=kind, size=size)


@signature("Widen")
@takes_bytes
def _widen_signature(x: Spec, /, *, kind: str, size: int | None = None) -> Spec:
    require_dtype("Widen", "x", x, "uint8")
    if not x.ndim:
        raise ShapeError("Widen: x is a scalar; want [..., bytes].")
    found = kind_of("Widen", kind)
    most = found.size_of(x.shape[-1])
    if size is not None and not most - 8 // min(found.bits, 8) < size <= most:
        raise ArgumentError(
            f"Widen: size is {size}; want what {x.shape[-1]} bytes of {kind} hold, {most}, or less "
            "by what does not fill the last byte."
        )
    return x.like(shape=(*x.shape[:-1], most if size is None else size), dtype=found.wide)


@cpu_kernel("Widen")
def _widen_cpu(x: Array, *, kind: str, size: int | None) -> Array:
    return unpacked(x, KINDS[kind], size)


@wgsl_kernel("Widen", dtypes=("uint8",), repeats=False)
def _widen_webgpu(gpu: Gpu, x: GpuArray, *, kind: str, size: int | None) -> GpuArray:
    found = KINDS[kind]
    *leading, nbytes = x.shape
    shader = f"quantization/packed/{kind}.{'wgsl' if kind in _PLAIN else 'wesl'}"
    whole = (*leading, found.size_of(nbytes))
    if found.bits == 16:
        steps, place = (*x.strides[:-1], x.strides[-1] * 2), x.offset
        low = gpu.view(x, whole, steps, place)
        arrays = {"low": low, "high": gpu.view(x, whole, steps, place + x.strides[-1])}
        return gpu.map(shader, arrays, whole, found.wide)
    each = 8 // found.bits
    if each == 1:
        return gpu.map(shader, {"x": x}, whole, found.wide)
    by_byte = gpu.view(x, (*leading, nbytes, 1), (*x.strides, 1), x.offset)
    y = gpu.map(shader, {"x": by_byte}, (*leading, nbytes, each), found.wide)
    y = gpu.view(y, whole, row_major(whole), 0)
    if size is None or size == whole[-1]:
        return y
    return gpu.view(y, (*leading, size), row_major(whole), 0)


_PLAIN = frozenset({"uint2", "uint4", "uint8", "uint16"})
"""Kinds whose shader imports nothing."""

no_gradient("Widen", because="its input is bytes")
