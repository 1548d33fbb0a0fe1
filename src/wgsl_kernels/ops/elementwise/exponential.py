"""Exponentials, logarithms, circular and hyperbolic functions, elementwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.elementwise import complex_maps
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers
from wgsl_kernels.ops.rules.specs import FLOATS

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="cos", tfjs="cos", method=True)
@elementwise(
    "Cos",
    "elementwise/exponential/cos.wesl",
    cpu=lambda x: numerics.cos(as_float(x)),
    gradient=lambda dy, x: -(dy * run("Sin", x)),
    gives=FLOATS,
)
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


@public(scipy="erf", tfjs="erf", method=True)
@elementwise(
    "Erf",
    "elementwise/exponential/erf.wesl",
    cpu=lambda x: numerics.erf(as_float(x)),
    gradient=lambda dy, x: dy * run("Exp", -(x * x)) * (2.0 / math.sqrt(math.pi)),
    gives=FLOATS,
)
def erf(x: TensorLike) -> Tensor:
    """Return the error function ``2 / sqrt(pi) * integral of e^(-t^2) from 0 to x``.

    Example:
        >>> wk.erf([0.0, 1.0]).numpy().round(3)
        array([0.   , 0.843], dtype=float32)
    """
    return run("Erf", x)


@public(numpy="exp", tfjs="exp", method=True)
@elementwise(
    "Exp",
    "elementwise/exponential/exp.wesl",
    cpu=lambda x: numerics.exp(as_float(x)),
    gradient=lambda dy, y: dy * y,
    gives=FLOATS,
)
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


@public(numpy="expm1", tfjs="expm1", method=True)
@elementwise(
    "Expm1",
    "elementwise/exponential/expm1.wesl",
    cpu=cut_for_integers(numerics.expm1),
    gradient=lambda dy, x: dy * exp(x),
)
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


@public(numpy="log", tfjs="log", method=True)
@elementwise(
    "Log",
    "elementwise/exponential/log.wesl",
    cpu=lambda x: numerics.log(as_float(x)),
    gradient=lambda dy, x: dy / x,
    gives=FLOATS,
)
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


@public(numpy="log1p", tfjs="log1p", method=True)
@elementwise(
    "Log1p",
    "elementwise/exponential/log1p.wesl",
    cpu=cut_for_integers(numerics.log1p),
    gradient=lambda dy, x: dy / (x + 1.0),
)
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


@public(numpy="sin", tfjs="sin", method=True)
@elementwise(
    "Sin",
    "elementwise/exponential/sin.wesl",
    cpu=lambda x: numerics.sin(as_float(x)),
    gradient=lambda dy, x: dy * cos(x),
    gives=FLOATS,
)
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


@public(numpy="tan", tfjs="tan", method=True)
@elementwise(
    "Tan",
    "elementwise/exponential/tan.wesl",
    cpu=lambda x: numerics.tan(as_float(x)),
    gradient=lambda dy, y: dy * (y * y + 1.0),
    gives=FLOATS,
)
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


@public(numpy="tanh", tfjs="tanh", method=True)
@elementwise(
    "Tanh",
    "elementwise/exponential/tanh.wesl",
    cpu=lambda x: numerics.tanh(as_float(x)),
    gives=FLOATS,
)
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


@gradient("Tanh")
def _tanh_grad(dy: Tensor, x: Tensor) -> Tensor:
    # 1 / cosh(x)^2, since 1 - y^2 cancels where y is near 1
    limit = _FLAT_FROM[x.dtype]
    inside = run("ClipByValue", x, clip_value_min=-limit, clip_value_max=limit)
    return dy * run("Square", run("Reciprocal", run("Cosh", inside)))


_FLAT_FROM = {"float16": 10.0, "float32": 53.0, "float64": 425.0}
"""Where cosh(x) is still a number, so that its gradient is, and 1 / cosh(x)^2 is 0."""
