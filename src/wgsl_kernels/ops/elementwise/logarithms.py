"""Logarithms to bases 2 and 10, elementwise; `exponential` has the natural one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.elementwise import complex_maps
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float
from wgsl_kernels.ops.rules.specs import FLOATS

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="log10", method=True)
@elementwise(
    "Log10",
    "elementwise/logarithms/log10.wesl",
    cpu=lambda x: numerics.log10(as_float(x)),
    gradient=lambda dy, x: dy / (x * math.log(10.0)),
    gives=FLOATS,
)
def log10(x: TensorLike) -> Tensor:
    """Return the logarithm to base 10, elementwise; -infinity at 0, NaN below it.

    Example:
        >>> log10(tensor([0.0, 1.0, 10.0])).tolist()
        [-inf, 0.0, 1.0]
    """
    try:
        return run("Log10", x)
    except DTypeError:
        return complex_maps.of_complex("log10", x)


@public(numpy="log2", method=True)
@elementwise(
    "Log2",
    "elementwise/logarithms/log2.wesl",
    cpu=lambda x: numerics.log2(as_float(x)),
    gradient=lambda dy, x: dy / (x * math.log(2.0)),
    gives=FLOATS,
)
def log2(x: TensorLike) -> Tensor:
    """Return the logarithm to base 2, elementwise; -infinity at 0, NaN below it.

    Example:
        >>> log2(tensor([0.0, 1.0, 1024.0])).tolist()
        [-inf, 0.0, 10.0]
    """
    try:
        return run("Log2", x)
    except DTypeError:
        return complex_maps.of_complex("log2", x)
