"""Lengths, signs, neighbours and remainders of two floats, elementwise with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.ops.elementwise import activation, binary, compare, logical
from wgsl_kernels.ops.rules.elementwise import elementwise, pair_rule
from wgsl_kernels.ops.rules.numbers import as_float
from wgsl_kernels.ops.rules.specs import FLOATS
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.ops.elementwise.binary import Pair


@public(numpy="copysign")
@elementwise(
    "CopySign",
    "elementwise/float_pairs/copy_sign.wesl",
    cpu=lambda a, b: np.copysign(as_float(a), as_float(b)),
    gives=FLOATS,
    exact=("float32",),
)
def copysign(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``abs(a)`` with the sign of ``b``, which -0 and NaN have, too.

    Example:
        >>> copysign(tensor([1.0, -2.0]), tensor([-0.0, 3.0])).numpy()
        array([-1.,  2.], dtype=float32)
    """
    return run("CopySign", a, b)


@gradient("CopySign")
def _copysign_grad(dy: Tensor, a: Tensor, b_shape: Shape, b: Tensor) -> Pair:
    one = creation.ones_like(a)
    return (
        lambda: unbroadcast(dy * (copysign(one, a) * copysign(one, b)), a.shape),
        lambda: creation.zeros(b_shape, dtype=dy.dtype),
    )


@silent
def _hypot_cpu(a: Array, b: Array) -> Array:
    return np.hypot(as_float(a), as_float(b))


@public(numpy="hypot")
@elementwise(
    "Hypot",
    "elementwise/float_pairs/hypot.wesl",
    cpu=_hypot_cpu,
    gives=FLOATS,
)
def hypot(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``sqrt(a**2 + b**2)`` without overflow on the way. The gradient at (0, 0) is 0.

    Example:
        >>> hypot(tensor([3.0, 3e30]), tensor([4.0, 4e30])).numpy()
        array([5.e+00, 5.e+30], dtype=float32)
    """
    return run("Hypot", a, b)


@gradient("Hypot")
def _hypot_grad(dy: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Pair:
    length = logical.where(compare.equal(y, 0.0), 1.0, y)
    return (
        lambda: unbroadcast(dy * (a / length), a.shape),  # 1 / length may be below normal numbers
        lambda: unbroadcast(dy * (b / length), b.shape),
    )


@public(numpy="logaddexp")
@elementwise(
    "LogAddExp",
    "elementwise/float_pairs/log_add_exp.wesl",
    cpu=lambda a, b: numerics.logaddexp(as_float(a), as_float(b)),
    gives=FLOATS,
)
def logaddexp(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``log(exp(a) + exp(b))`` without overflow on the way.

    Where the result is near 0 the two cancel: it is off by at most one rounding and 2^-30, which is
    8 units in the last place where it is 0.001 or more in magnitude.

    Example:
        >>> logaddexp(tensor([0.0, 1000.0]), 0.0).numpy()
        array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return run("LogAddExp", a, b)


@gradient("LogAddExp")
def _logaddexp_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    # e^a / (e^a + e^b), which e^(a - y) is but for what y was rounded by
    return (
        lambda: unbroadcast(dy * activation.sigmoid(a - b), a.shape),
        lambda: unbroadcast(dy * activation.sigmoid(b - a), b.shape),
    )


@public(numpy="nextafter")
def nextafter(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the next number of the dtype from ``a`` toward ``b``; ``b`` where they are equal.

    Args:
        a: float32 or float16, or float64 on cpu.
        b: Likewise.

    Raises:
        DTypeError: One is of another dtype.

    Example:
        >>> nextafter(tensor([1.0]), tensor([2.0])).numpy() - 1
        array([1.1920929e-07], dtype=float32)
    """
    return run("NextAfter", a, b)


@signature("NextAfter", promote=("a", "b"))
def _nextafter_signature(a: Spec, b: Spec, /) -> Spec:
    for name, one in (("a", a), ("b", b)):
        if one.dtype not in _STEPPED:
            raise DTypeError(f"NextAfter: {name} has dtype {one.dtype}; want a float.")
    return pair_rule("NextAfter", _STEPPED)(a, b)


_STEPPED: tuple[DType, ...] = ("float32", "float64", "float16")


@cpu_kernel("NextAfter")
@silent
def _nextafter_cpu(a: Array, b: Array) -> Array:
    found: Array = np.nextafter(a, b)  # NumPy's of float16 gives the zero a between two zeros
    return np.where(a == b, b, found) if found.dtype == np.float16 else found


@wgsl_kernel("NextAfter", dtypes=("float32", "float16"), repeats=False)
def _nextafter_webgpu(gpu: Gpu, a: GpuArray, b: GpuArray) -> GpuArray:
    name = "next_after_half" if a.dtype == "float16" else "next_after"
    shape = np.broadcast_shapes(a.shape, b.shape)
    return gpu.map(f"elementwise/float_pairs/{name}.wesl", {"a": a, "b": b}, shape, a.dtype)


@gradient("NextAfter")
def _nextafter_grad(dy: Tensor, a_shape: Shape, b_shape: Shape) -> Pair:
    return (
        lambda: unbroadcast(dy, a_shape),
        lambda: creation.zeros(b_shape, dtype=dy.dtype),
    )


def _remainder_cpu(a: Array, b: Array) -> Array:
    if a.dtype == np.bool_:
        return np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)
    return numerics.floor_mod(a, b)


@public(numpy="remainder", tfjs="mod", operator="mod", method=True)
@elementwise("Mod", "elementwise/float_pairs/mod.wesl", cpu=_remainder_cpu, exact=("int32", "bool"))
def remainder(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a % b`` with the sign of ``b``, as Python has it; by 0 NaN, of integers 0.

    The gradient of ``b`` is ``-floor(a / b)``.

    Example:
        >>> remainder(tensor([5.5, -1.0]), tensor([2.0, 3.0])).numpy()
        array([1.5, 2. ], dtype=float32)
    """
    return run("Mod", a, b)


@gradient("Mod")
def _remainder_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    return (
        lambda: unbroadcast(dy, a.shape),
        lambda: unbroadcast(-(dy * binary.floor_divide(a, b)), b.shape),
    )


# A sign is moved, or remainders of integers taken.
