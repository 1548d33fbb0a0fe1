"""Exponentials, logarithms, circular and hyperbolic functions, elementwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.run import run
from wgsl_kernels.ops.elementwise import complex_maps
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import NUMBERS, float_of_x, like_x

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="cos", tfjs="cos", method=True)
def cos(x: TensorLike) -> Tensor:
    """Return the cosine of ``x`` in radians, elementwise.

    Example:
        >>> wk.cos([0.0, wk.pi]).tolist()
        [1.0, -1.0]
    """
    try:
        return run("Cos", x)
    except DTypeError:
        return complex_maps.of_complex("cos", x)


signature("Cos")(float_of_x("Cos"))


@cpu_kernel("Cos")
def _cos_cpu(x: Array) -> Array:
    return numerics.cos(as_float(x))


wgsl_kernel("Cos", "elementwise/exponential/cos.wesl")


@gradient("Cos")
def _cos_grad(dy: Tensor, x: Tensor) -> Tensor:
    return -(dy * sin(x))


@public(scipy="erf", tfjs="erf", method=True)
def erf(x: TensorLike) -> Tensor:
    """Return the error function ``2 / sqrt(pi) * integral of e^(-t^2) from 0 to x``.

    Example:
        >>> wk.erf([0.0, 1.0]).numpy().round(3)
        array([0.   , 0.843], dtype=float32)
    """
    return run("Erf", x)


signature("Erf")(float_of_x("Erf"))


@cpu_kernel("Erf")
def _erf_cpu(x: Array) -> Array:
    return numerics.erf(as_float(x))


wgsl_kernel("Erf", "elementwise/exponential/erf.wesl")


@gradient("Erf")
def _erf_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * exp(-(x * x)) * (2.0 / math.sqrt(math.pi))


@public(numpy="exp", tfjs="exp", method=True)
def exp(x: TensorLike) -> Tensor:
    """Return e to the power ``x``, elementwise.

    Example:
        >>> wk.exp([0.0, 1.0]).numpy().round(3)
        array([1.   , 2.718], dtype=float32)
    """
    try:
        return run("Exp", x)
    except DTypeError:
        return complex_maps.of_complex("exp", x)


signature("Exp")(float_of_x("Exp"))


@cpu_kernel("Exp")
def _exp_cpu(x: Array) -> Array:
    return numerics.exp(as_float(x))


wgsl_kernel("Exp", "elementwise/exponential/exp.wesl")


@gradient("Exp")
def _exp_grad(dy: Tensor, y: Tensor) -> Tensor:
    return dy * y


@public(numpy="expm1", tfjs="expm1", method=True)
def expm1(x: TensorLike) -> Tensor:
    """Return ``exp(x) - 1`` without cancellation near 0; of integers cut toward zero.

    Example:
        >>> wk.expm1([0.0, 1.0]).numpy().round(3)
        array([0.   , 1.718], dtype=float32)
    """
    try:
        return run("Expm1", x)
    except DTypeError:
        return complex_maps.of_complex("expm1", x)


signature("Expm1")(like_x("Expm1", *NUMBERS))


@cpu_kernel("Expm1")
@cut_for_integers
def _expm1_cpu(x: Array) -> Array:
    return numerics.expm1(x)


wgsl_kernel("Expm1", "elementwise/exponential/expm1.wesl")


@gradient("Expm1")
def _expm1_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * exp(x)


@public(numpy="log", tfjs="log", method=True)
def log(x: TensorLike) -> Tensor:
    """Return the natural logarithm, elementwise; -infinity at 0, NaN below it.

    Example:
        >>> wk.log([1.0, 0.0]).tolist()
        [0.0, -inf]
    """
    try:
        return run("Log", x)
    except DTypeError:
        return complex_maps.of_complex("log", x)


signature("Log")(float_of_x("Log"))


@cpu_kernel("Log")
def _log_cpu(x: Array) -> Array:
    return numerics.log(as_float(x))


wgsl_kernel("Log", "elementwise/exponential/log.wesl")


@gradient("Log")
def _log_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy / x


@public(numpy="log1p", tfjs="log1p", method=True)
def log1p(x: TensorLike) -> Tensor:
    """Return ``log(1 + x)`` without cancellation near 0; of integers cut toward zero.

    Example:
        >>> wk.log1p([0.0, 1.0]).numpy().round(3)
        array([0.   , 0.693], dtype=float32)
    """
    try:
        return run("Log1p", x)
    except DTypeError:
        return complex_maps.of_complex("log1p", x)


signature("Log1p")(like_x("Log1p", *NUMBERS))


@cpu_kernel("Log1p")
@cut_for_integers
def _log1p_cpu(x: Array) -> Array:
    return numerics.log1p(x)


wgsl_kernel("Log1p", "elementwise/exponential/log1p.wesl")


@gradient("Log1p")
def _log1p_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy / (x + 1.0)


@public(numpy="sin", tfjs="sin", method=True)
def sin(x: TensorLike) -> Tensor:
    """Return the sine of ``x`` in radians, elementwise.

    Example:
        >>> wk.sin([0.0, 0.5]).numpy().round(3)
        array([0.   , 0.479], dtype=float32)
    """
    try:
        return run("Sin", x)
    except DTypeError:
        return complex_maps.of_complex("sin", x)


signature("Sin")(float_of_x("Sin"))


@cpu_kernel("Sin")
def _sin_cpu(x: Array) -> Array:
    return numerics.sin(as_float(x))


wgsl_kernel("Sin", "elementwise/exponential/sin.wesl")


@gradient("Sin")
def _sin_grad(dy: Tensor, x: Tensor) -> Tensor:
    return dy * cos(x)


@public(numpy="tan", tfjs="tan", method=True)
def tan(x: TensorLike) -> Tensor:
    """Return the tangent of ``x`` in radians, elementwise.

    Example:
        >>> wk.tan([0.0, 0.5]).numpy().round(3)
        array([0.   , 0.546], dtype=float32)
    """
    try:
        return run("Tan", x)
    except DTypeError:
        return complex_maps.of_complex("tan", x)


signature("Tan")(float_of_x("Tan"))


@cpu_kernel("Tan")
def _tan_cpu(x: Array) -> Array:
    return numerics.tan(as_float(x))


wgsl_kernel("Tan", "elementwise/exponential/tan.wesl")


@gradient("Tan")
def _tan_grad(dy: Tensor, y: Tensor) -> Tensor:
    return dy * (y * y + 1.0)


@public(numpy="tanh", tfjs="tanh", method=True)
def tanh(x: TensorLike) -> Tensor:
    """Return the hyperbolic tangent, elementwise.

    Example:
        >>> wk.tanh([0.0, 0.5]).numpy().round(3)
        array([0.   , 0.462], dtype=float32)
    """
    try:
        return run("Tanh", x)
    except DTypeError:
        return complex_maps.of_complex("tanh", x)


signature("Tanh")(float_of_x("Tanh"))


@cpu_kernel("Tanh")
def _tanh_cpu(x: Array) -> Array:
    return numerics.tanh(as_float(x))


wgsl_kernel("Tanh", "elementwise/exponential/tanh.wesl")


@gradient("Tanh")
def _tanh_grad(dy: Tensor, x: Tensor) -> Tensor:
    # 1 / cosh(x)^2, since 1 - y^2 cancels where y is near 1
    limit = _FLAT_FROM[x.dtype]
    inside = run("ClipByValue", x, clip_value_min=-limit, clip_value_max=limit)
    return dy * run("Square", run("Reciprocal", run("Cosh", inside)))


_FLAT_FROM = {"float16": 10.0, "float32": 53.0, "float64": 425.0}
"""Where cosh(x) is still a number, so that its gradient is, and 1 / cosh(x)^2 is 0."""
