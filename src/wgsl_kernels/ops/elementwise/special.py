"""The logarithm of gamma and its derivatives; erf's complement and inverse; elementwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import special
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float
from wgsl_kernels.ops.rules.specs import FLOATS, NUMBERS, float_dtype

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec

MOST = 34
"""The highest derivative: float32 holds the factorials up to that of 34."""


@public(scipy="psi", method=True)
@elementwise(
    "Digamma",
    "elementwise/special/digamma.wesl",
    cpu=lambda x: special.digamma(as_float(x)),
    gradient=lambda dy, x: dy * run("Polygamma", x, n=1),
    gives=FLOATS,
)
def digamma(x: TensorLike) -> Tensor:
    """Return the derivative of `lgamma`, elementwise.

    It is -infinity at 0, infinity at -0, and NaN at -1, -2, -3, ... and at -infinity. Below 0 its
    error is some units in the last place of the larger of its two terms, ``digamma(1 - x)`` and
    ``pi / tan(pi x)``.

    Example:
        >>> wk.digamma([1.0, 2.0]).numpy().round(3)
        array([-0.577,  0.423], dtype=float32)
    """
    return run("Digamma", x)


@public(scipy="erfc", method=True)
@elementwise(
    "Erfc",
    "elementwise/special/erfc.wesl",
    cpu=lambda x: special.erfc(as_float(x)),
    gradient=lambda dy, x: dy * run("Exp", -(x * x)) * (-2.0 / math.sqrt(math.pi)),
    gives=FLOATS,
)
def erfc(x: TensorLike) -> Tensor:
    """Return ``1 - erf(x)``, elementwise, right to the last places where that is near 0.

    Example:
        >>> wk.erfc([0.0, 1.0]).numpy().round(3)
        array([1.   , 0.157], dtype=float32)
    """
    return run("Erfc", x)


@public(scipy="erfinv", method=True)
@elementwise(
    "Erfinv",
    "elementwise/special/erfinv.wesl",
    cpu=lambda x: special.erfinv(as_float(x)),
    gradient=lambda dy, y: dy * run("Exp", y * y) * (math.sqrt(math.pi) / 2),
    gives=FLOATS,
)
def erfinv(x: TensorLike) -> Tensor:
    """Return the number whose `erf` is ``x``, elementwise; infinite at -1 and 1, NaN beyond.

    Example:
        >>> wk.erfinv([0.0, 0.5, 1.0]).numpy().round(3)
        array([0.   , 0.477,   inf], dtype=float32)
    """
    return run("Erfinv", x)


@public(scipy="gammaln", method=True)
@elementwise(
    "Lgamma",
    "elementwise/special/lgamma.wesl",
    cpu=lambda x: special.lgamma(as_float(x)),
    gradient=lambda dy, x: dy * run("Digamma", x),
    gives=FLOATS,
)
def lgamma(x: TensorLike) -> Tensor:
    """Return the logarithm of the absolute value of gamma, elementwise.

    It is infinity at 0, -1, -2, ... and at both infinities. Below 0 its error is some units in the
    last place of the larger of its two terms, ``lgamma(-x)`` and ``log(pi / |x sin(pi x)|)``.

    Example:
        >>> wk.lgamma([1.0, 5.0]).numpy().round(3)
        array([0.   , 3.178], dtype=float32)
    """
    return run("Lgamma", x)


@public(method=True)
def polygamma(x: TensorLike, *, n: int = 1) -> Tensor:
    """Return the derivative number ``n`` of `digamma`, elementwise.

    At 0, -1, -2, ... it is infinity for odd ``n``; for even ``n`` -infinity at 0, infinity at -0
    and NaN at the others. It is NaN at -infinity. Its relative error grows with ``n``, by some 2
    units in the last place; below 0 it is one of the largest term, ``n! / d^(n + 1)`` for a
    distance d to the nearest whole number.

    Args:
        x: Any shape.
        n: In [0, 34]; 0 is `digamma` itself, and the gradient is that of ``n + 1``.

    Raises:
        ArgumentError: ``n`` is another.

    Example:
        >>> wk.polygamma([1.0, 2.0]).numpy().round(3)
        array([1.645, 0.645], dtype=float32)
    """
    order = integer("polygamma", "n", n)
    return run("Digamma", x) if order == 0 else run("Polygamma", x, n=order)


@signature("Polygamma")
def _polygamma_signature(x: Spec, /, *, n: int) -> Spec:
    require_dtype("Polygamma", "x", x, *NUMBERS)
    if not 0 < n <= MOST:
        raise ArgumentError(f"Polygamma: n is {n}; want an integer in [1, {MOST}].")
    return x.like(dtype=float_dtype(x.dtype))


@cpu_kernel("Polygamma")
def _polygamma_cpu(x: Array, *, n: int) -> Array:
    return special.polygamma(as_float(x), n)


wgsl_kernel("Polygamma", "elementwise/special/polygamma.wesl")


@gradient("Polygamma")
def _polygamma_grad(dy: Tensor, x: Tensor, n: int) -> Tensor:
    return dy * run("Polygamma", x, n=n + 1)
