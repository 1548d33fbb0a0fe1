"""Inverse circular functions, elementwise; sine, cosine and tangent are in `exponential`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.elementwise import complex_maps, unary
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import FLOATS

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.elementwise.binary import Pair


@public(numpy="arccos", tfjs="acos", method=True)
@elementwise(
    "Acos",
    "elementwise/trigonometry/acos.wesl",
    cpu=cut_for_integers(numerics.acos),
    gradient=lambda dy, x: -(dy * unary.rsqrt((1.0 - x) * (x + 1.0))),
)
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


@public(numpy="arcsin", tfjs="asin", method=True)
@elementwise(
    "Asin",
    "elementwise/trigonometry/asin.wesl",
    cpu=cut_for_integers(numerics.asin),
    gradient=lambda dy, x: dy * unary.rsqrt((1.0 - x) * (x + 1.0)),
)
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


@public(numpy="arctan", tfjs="atan", method=True)
@elementwise(
    "Atan",
    "elementwise/trigonometry/atan.wesl",
    cpu=cut_for_integers(numerics.atan),
    gradient=lambda dy, x: dy / (x * x + 1.0),
)
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


@public(numpy="arctan2", tfjs="atan2")
@elementwise(
    "Atan2",
    "elementwise/trigonometry/atan2.wesl",
    cpu=lambda a, b: numerics.atan2(as_float(a), as_float(b)),
    gives=FLOATS,
)
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


@gradient("Atan2")
def _atan2_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    # b / (a^2 + b^2) and -a / (a^2 + b^2), where squares may over- or underflow
    length = run("Hypot", a, b)
    part = dy / length
    return (
        lambda: unbroadcast(part * (b / length), a.shape),
        lambda: unbroadcast(-(part * (a / length)), b.shape),
    )
