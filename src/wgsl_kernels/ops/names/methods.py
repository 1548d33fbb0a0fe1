"""The table of ops that tensors have as methods: ``x.sum(0)`` is ``wk.sum(x, 0)``.

`wgsl_kernels.engine.tensors.methods` holds their types; ``python scripts/write_methods.py``
writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.tensors.methods import provide_methods
from wgsl_kernels.ops.elementwise import (
    activation,
    binary,
    bitwise,
    cast,
    classify,
    compare,
    complex,
    exponential,
    float_pairs,
    hyperbolic,
    logarithms,
    logical,
    trigonometry,
    unary,
)
from wgsl_kernels.ops.indexing import counting, gather, ordered, sort, updating
from wgsl_kernels.ops.linear_algebra import diagonals, matrix
from wgsl_kernels.ops.names import compositions
from wgsl_kernels.ops.reductions import extremes, reduce, scan, softmax, statistics
from wgsl_kernels.ops.shapes import joining, moving, slicing
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from wgsl_kernels.engine.tensors.tensor import Tensor


def reshape(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """Return the same elements in another shape, given as one tuple or as lengths.

    See `wgsl_kernels.reshape`.
    """
    return shapes.reshape(x, _one_or_several(shape))


def transpose(x: Tensor, *axes: int | Sequence[int]) -> Tensor:
    """Return ``x`` with its axes in another order, reversed where none is given.

    See `wgsl_kernels.permute_dims`.
    """
    return shapes.permute_dims(x, _one_or_several(axes) if axes else None)


def _one_or_several(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 else given


METHODS: tuple[Callable[..., Any], ...] = (
    unary.abs,
    trigonometry.acos,
    hyperbolic.acosh,
    binary.add,
    reduce.all,
    reduce.any,
    extremes.argmax,
    extremes.argmin,
    ordered.argsort,
    trigonometry.asin,
    hyperbolic.asinh,
    cast.astype,
    trigonometry.atan,
    hyperbolic.atanh,
    bitwise.bitwise_and,
    bitwise.bitwise_or,
    bitwise.bitwise_xor,
    shapes.broadcast_to,
    unary.ceil,
    unary.clip,
    shapes.clone,
    complex.conj,
    exponential.cos,
    hyperbolic.cosh,
    counting.count_nonzero,
    scan.cumulative_prod,
    scan.cumulative_sum,
    compositions.diff,
    binary.divide,
    matrix.dot,
    activation.elu,
    compare.equal,
    exponential.erf,
    exponential.exp,
    shapes.expand_dims,
    exponential.expm1,
    shapes.flip,
    unary.floor,
    binary.floor_divide,
    compare.greater,
    compare.greater_equal,
    complex.imag,
    classify.isfinite,
    classify.isinf,
    classify.isnan,
    activation.leaky_relu,
    compare.less,
    compare.less_equal,
    exponential.log,
    logarithms.log10,
    exponential.log1p,
    logarithms.log2,
    softmax.log_softmax,
    logical.logical_and,
    logical.logical_not,
    logical.logical_or,
    logical.logical_xor,
    softmax.logsumexp,
    matrix.matmul,
    shapes.matrix_transpose,
    extremes.max,
    binary.maximum,
    reduce.mean,
    extremes.min,
    binary.minimum,
    moving.moveaxis,
    binary.multiply,
    unary.negative,
    counting.nonzero,
    compare.not_equal,
    matrix.outer,
    joining.pad,
    shapes.permute_dims,
    binary.pow,
    reduce.prod,
    complex.real,
    unary.reciprocal,
    activation.relu,
    float_pairs.remainder,
    moving.repeat,
    reshape,
    moving.roll,
    unary.round,
    unary.rsqrt,
    activation.selu,
    activation.sigmoid,
    unary.sign,
    exponential.sin,
    hyperbolic.sinh,
    softmax.softmax,
    activation.softplus,
    ordered.sort,
    slicing.split,
    unary.sqrt,
    unary.square,
    shapes.squeeze,
    statistics.std,
    binary.subtract,
    reduce.sum,
    gather.take,
    gather.take_along_axis,
    exponential.tan,
    exponential.tanh,
    joining.tile,
    sort.topk,
    transpose,
    diagonals.tril,
    diagonals.triu,
    unary.trunc,
    slicing.unstack,
    statistics.var,
)
"""The ops that are methods, by name; their first argument is the tensor."""

PROPERTIES: dict[str, Callable[[Tensor], Any]] = {
    "T": shapes.permute_dims,
    "at": updating.at,
    "mT": shapes.matrix_transpose,
}
"""The ops that are attributes."""

ALIASES = {"cumprod": scan.cumulative_prod, "cumsum": scan.cumulative_sum}
"""NumPy's names of methods that the array API standard calls otherwise."""

provide_methods({one.__name__: one for one in METHODS} | ALIASES, PROPERTIES)
