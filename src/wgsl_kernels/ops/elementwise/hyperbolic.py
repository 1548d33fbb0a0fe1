"""Hyperbolic sine and cosine, and the inverse functions, elementwise; `exponential` has tanh."""

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
from wgsl_kernels.ops.elementwise import complex_maps, unary
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import NUMBERS, float_of_x, like_x

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="arccosh", tfjs="acosh", method=True)
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


signature("Acosh")(like_x("Acosh", *NUMBERS))


@cpu_kernel("Acosh")
@cut_for_integers
def _acosh_cpu(x: Array) -> Array:
    return numerics.acosh(x)


wgsl_kernel("Acosh", "elementwise/hyperbolic/acosh.wesl")


@gradient("Acosh")
def _acosh_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy / (unary.sqrt(x - 1.0) * unary.sqrt(x + 1.0))  # their product may overflow


@public(numpy="arcsinh", tfjs="asinh", method=True)
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


signature("Asinh")(like_x("Asinh", *NUMBERS))


@cpu_kernel("Asinh")
@cut_for_integers
def _asinh_cpu(x: Array) -> Array:
    return numerics.asinh(x)


wgsl_kernel("Asinh", "elementwise/hyperbolic/asinh.wesl")


@gradient("Asinh")
def _asinh_grad(dy: Tensor, x: Tensor) -> Tensor:
    # 1 / sqrt(x^2 + 1); where x^2 overflows what is above 0 of the two, else never the second
    return dy * run("Maximum", unary.rsqrt(x * x + 1.0), 1.0 / (unary.abs(x) + 1.0))


@public(numpy="arctanh", tfjs="atanh", method=True)
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


signature("Atanh")(like_x("Atanh", *NUMBERS))


@cpu_kernel("Atanh")
@cut_for_integers
def _atanh_cpu(x: Array) -> Array:
    return numerics.atanh(x)


wgsl_kernel("Atanh", "elementwise/hyperbolic/atanh.wesl")


@gradient("Atanh")
def _atanh_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy / ((1.0 - x) * (x + 1.0))


@public(numpy="cosh", tfjs="cosh", method=True)
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


signature("Cosh")(float_of_x("Cosh"))


@cpu_kernel("Cosh")
def _cosh_cpu(x: Array) -> Array:
    return numerics.cosh(as_float(x))


wgsl_kernel("Cosh", "elementwise/hyperbolic/cosh.wesl")


@gradient("Cosh")
def _cosh_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * sinh(x)


@public(numpy="sinh", tfjs="sinh", method=True)
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


signature("Sinh")(like_x("Sinh", *NUMBERS))


@cpu_kernel("Sinh")
@cut_for_integers
def _sinh_cpu(x: Array) -> Array:
    return numerics.sinh(x)


wgsl_kernel("Sinh", "elementwise/hyperbolic/sinh.wesl")


@gradient("Sinh")
def _sinh_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * cosh(x)
