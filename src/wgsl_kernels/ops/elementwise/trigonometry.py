"""Inverse circular functions, elementwise; sine, cosine and tangent are in `exponential`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.run import run
from wgsl_kernels.engine.tensors.unbroadcast import unbroadcast
from wgsl_kernels.ops.elementwise import complex_maps, unary
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import FLOATS, NUMBERS, broadcast_pair, like_x

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.elementwise.binary import Pair


@public(numpy="arccos", tfjs="acos", method=True)
def acos(x: TensorLike) -> Tensor:
    """Return the angle in [0, pi] whose cosine is ``x``; NaN beyond [-1, 1], integers cut.

    Example:
        >>> wk.acos([1.0, 0.0, 2.0]).numpy().round(3)
        array([0.   , 1.571,   nan], dtype=float32)
    """
    try:
        return run("Acos", x)
    except DTypeError:
        return complex_maps.of_complex("acos", x)


signature("Acos")(like_x("Acos", *NUMBERS))


@cpu_kernel("Acos")
@cut_for_integers
def _acos_cpu(x: Array) -> Array:
    return numerics.acos(x)


wgsl_kernel("Acos", "elementwise/trigonometry/acos.wesl")


@gradient("Acos")
def _acos_grad(dy: Tensor, x: Tensor) -> Tensor:
    return -(dy * unary.rsqrt((1.0 - x) * (x + 1.0)))


@public(numpy="arcsin", tfjs="asin", method=True)
def asin(x: TensorLike) -> Tensor:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``; NaN beyond [-1, 1], integers cut.

    Example:
        >>> wk.asin([0.0, 1.0, 2.0]).numpy().round(3)
        array([0.   , 1.571,   nan], dtype=float32)
    """
    try:
        return run("Asin", x)
    except DTypeError:
        return complex_maps.of_complex("asin", x)


signature("Asin")(like_x("Asin", *NUMBERS))


@cpu_kernel("Asin")
@cut_for_integers
def _asin_cpu(x: Array) -> Array:
    return numerics.asin(x)


wgsl_kernel("Asin", "elementwise/trigonometry/asin.wesl")


@gradient("Asin")
def _asin_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * unary.rsqrt((1.0 - x) * (x + 1.0))


@public(numpy="arctan", tfjs="atan", method=True)
def atan(x: TensorLike) -> Tensor:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``; of integers cut toward zero.

    Example:
        >>> wk.atan([0.0, 1.0]).numpy().round(3)
        array([0.   , 0.785], dtype=float32)
    """
    try:
        return run("Atan", x)
    except DTypeError:
        return complex_maps.of_complex("atan", x)


signature("Atan")(like_x("Atan", *NUMBERS))


@cpu_kernel("Atan")
@cut_for_integers
def _atan_cpu(x: Array) -> Array:
    return numerics.atan(x)


wgsl_kernel("Atan", "elementwise/trigonometry/atan.wesl")


@gradient("Atan")
def _atan_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy / (x * x + 1.0)


@public(numpy="arctan2", tfjs="atan2")
def atan2(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the angle in [-pi, pi] of the point ``(b, a)``, elementwise with broadcasting.

    Args:
        a: The y coordinate; the angle has its sign.
        b: The x coordinate.

    Example:
        >>> atan2(tensor([0.0, 1.0]), tensor([-1.0, 0.0])).numpy()
        array([3.1415927, 1.5707964], dtype=float32)
    """
    return run("Atan2", a, b)


signature("Atan2", promote=("a", "b"))(broadcast_pair("Atan2", *NUMBERS, gives=FLOATS))


@cpu_kernel("Atan2")
def _atan2_cpu(a: Array, b: Array) -> Array:
    return numerics.atan2(as_float(a), as_float(b))


wgsl_kernel("Atan2", "elementwise/trigonometry/atan2.wesl")


@gradient("Atan2")
def _atan2_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    # b / (a^2 + b^2) and -a / (a^2 + b^2), where squares may over- or underflow
    length = run("Hypot", a, b)
    part = dy / length
    return (
        lambda: unbroadcast(part * (b / length), a.shape),
        lambda: unbroadcast(-(part * (a / length)), b.shape),
    )
