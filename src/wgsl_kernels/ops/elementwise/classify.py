"""Which floats are finite, infinite or NaN, elementwise."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.elementwise.logical import BECAUSE
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.specs import BOOLS, COMPLEX, NUMBERS

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_test = functools.partial(elementwise, because=BECAUSE, takes=COMPLEX, gives=BOOLS, exact=NUMBERS)


@public(numpy="isfinite", tfjs="isFinite", method=True)
@_test("IsFinite", "elementwise/classify/is_finite.wesl", cpu=np.isfinite)
def isfinite(x: TensorLike) -> Tensor:
    """Return whether ``x`` is neither infinite nor NaN; of complex numbers both parts.

    Example:
        >>> wk.isfinite([1.0, wk.inf, wk.nan]).tolist()
        [True, False, False]
    """
    return run("IsFinite", x)


@public(numpy="isinf", tfjs="isInf", method=True)
@_test("IsInf", "elementwise/classify/is_inf.wesl", cpu=np.isinf)
def isinf(x: TensorLike) -> Tensor:
    """Return whether ``x`` is infinite; of complex numbers either part.

    Example:
        >>> wk.isinf([1.0, wk.inf, wk.nan]).tolist()
        [False, True, False]
    """
    return run("IsInf", x)


@public(numpy="isnan", tfjs="isNaN", method=True)
@_test("IsNan", "elementwise/classify/is_nan.wesl", cpu=np.isnan)
def isnan(x: TensorLike) -> Tensor:
    """Return whether ``x`` is NaN; of complex numbers either part.

    Example:
        >>> wk.isnan([1.0, wk.inf, wk.nan]).tolist()
        [False, False, True]
    """
    return run("IsNan", x)
