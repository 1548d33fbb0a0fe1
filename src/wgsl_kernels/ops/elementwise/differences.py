"""The squared difference of two tensors, in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import bools_as_numbers
from wgsl_kernels.ops.rules.specs import NUMBERS

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.elementwise.binary import Pair


@silent
@bools_as_numbers
def _squared_difference_cpu(a: Array, b: Array) -> Array:
    difference = np.asarray(np.subtract(a, b))
    np.square(difference, out=difference)
    return difference


@public(tfjs="squaredDifference")
@elementwise(
    "SquaredDifference",
    "elementwise/differences/squared_difference.wgsl",
    cpu=_squared_difference_cpu,
    exact=NUMBERS,
)
def squared_difference(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``(a - b) ** 2``; int32 wraps.

    Example:
        >>> wk.squared_difference([1.0, 5.0], 3.0).tolist()
        [4.0, 4.0]
    """
    return run("SquaredDifference", a, b)


@gradient("SquaredDifference")
def _squared_difference_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    da = dy * ((a - b) * 2.0)
    return unbroadcast(da, a.shape), lambda: unbroadcast(-da, b.shape)


# Rounded twice, on both backends alike.
