"""Hyperbolic sine and cosine, and the inverse functions, elementwise; `exponential` has tanh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.elementwise import complex_maps, unary
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import FLOATS

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="arccosh", tfjs="acosh", method=True)
@elementwise(
    "Acosh",
    "elementwise/hyperbolic/acosh.wesl",
    cpu=cut_for_integers(numerics.acosh),
    # (x - 1) (x + 1) may overflow
    gradient=lambda dy, x: dy / (unary.sqrt(x - 1.0) * unary.sqrt(x + 1.0)),
)
def acosh(x: TensorLike) -> Tensor:
    """Return the number from 0 up whose cosh is ``x``; NaN below 1, of integers cut toward zero.

    Example:
        >>> wk.acosh([1.0, 2.0]).numpy().round(3)
        array([0.   , 1.317], dtype=float32)
    """
    try:
        return run("Acosh", x)
    except DTypeError:
        return complex_maps.of_complex("acosh", x)


@public(numpy="arcsinh", tfjs="asinh", method=True)
@elementwise("Asinh", "elementwise/hyperbolic/asinh.wesl", cpu=cut_for_integers(numerics.asinh))
def asinh(x: TensorLike) -> Tensor:
    """Return the number whose sinh is ``x``, elementwise; of integers cut toward zero.

    Example:
        >>> wk.asinh([0.0, 1.0]).numpy().round(3)
        array([0.   , 0.881], dtype=float32)
    """
    try:
        return run("Asinh", x)
    except DTypeError:
        return complex_maps.of_complex("asinh", x)


@gradient("Asinh")
def _asinh_grad(dy: Tensor, x: Tensor) -> Tensor:
    # 1 / sqrt(x^2 + 1); where x^2 overflows what is above 0 of the two, else never the second
    return dy * run("Maximum", unary.rsqrt(x * x + 1.0), 1.0 / (unary.abs(x) + 1.0))


@public(numpy="arctanh", tfjs="atanh", method=True)
@elementwise(
    "Atanh",
    "elementwise/hyperbolic/atanh.wesl",
    cpu=cut_for_integers(numerics.atanh),
    gradient=lambda dy, x: dy / ((1.0 - x) * (x + 1.0)),
)
def atanh(x: TensorLike) -> Tensor:
    """Return the number whose tanh is ``x``; NaN outside [-1, 1], of integers cut toward zero.

    Example:
        >>> wk.atanh([0.0, 0.5]).numpy().round(3)
        array([0.   , 0.549], dtype=float32)
    """
    try:
        return run("Atanh", x)
    except DTypeError:
        return complex_maps.of_complex("atanh", x)


@public(numpy="cosh", tfjs="cosh", method=True)
@elementwise(
    "Cosh",
    "elementwise/hyperbolic/cosh.wesl",
    cpu=lambda x: numerics.cosh(as_float(x)),
    gradient=lambda dy, x: dy * run("Sinh", x),
    gives=FLOATS,
)
def cosh(x: TensorLike) -> Tensor:
    """Return ``(exp(x) + exp(-x)) / 2``, elementwise.

    Example:
        >>> wk.cosh([0.0, 1.0]).numpy().round(3)
        array([1.   , 1.543], dtype=float32)
    """
    try:
        return run("Cosh", x)
    except DTypeError:
        return complex_maps.of_complex("cosh", x)


@public(numpy="sinh", tfjs="sinh", method=True)
@elementwise(
    "Sinh",
    "elementwise/hyperbolic/sinh.wesl",
    cpu=cut_for_integers(numerics.sinh),
    gradient=lambda dy, x: dy * cosh(x),
)
def sinh(x: TensorLike) -> Tensor:
    """Return ``(exp(x) - exp(-x)) / 2``, elementwise; of integers cut toward zero.

    Example:
        >>> wk.sinh([0.0, 1.0]).numpy().round(3)
        array([0.   , 1.175], dtype=float32)
    """
    try:
        return run("Sinh", x)
    except DTypeError:
        return complex_maps.of_complex("sinh", x)
