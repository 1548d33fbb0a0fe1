"""Reductions along axes: sums, norms, extremes, their places, and running sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import ints
from wgsl_kernels.onnx.types import element, is_integer, limits
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode

    Axes = tuple[int, ...] | None
    Reduction = Callable[[OnnxNode, Tensor, Axes, bool], Tensor]


def least(node: OnnxNode) -> float | int | bool:
    """Return the least value of what carries the type of a node's first input."""
    kind = element(node.in_types[0])
    return False if kind == "bool" else limits(kind)[0] if is_integer(kind) else -math.inf


def largest(node: OnnxNode) -> float | int | bool:
    """Return the largest value of what carries the type of a node's first input."""
    kind = element(node.in_types[0])
    return True if kind == "bool" else limits(kind)[1] if is_integer(kind) else math.inf


def _extreme(
    function: Callable[..., Tensor],
    logical: Callable[..., Tensor],
    neutral: Callable[[OnnxNode], Any],
) -> Reduction:
    """Return a reduction that has a value of nothing, too, which this library's has not."""

    def reduce(node: OnnxNode, x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        if x.dtype == "bool":
            return logical(x, axes, keepdims=keepdims)
        if any(x.shape[i] == 0 for i in (range(x.ndim) if axes is None else axes)):
            empty = ops.sum(x, axes, keepdims=keepdims)
            return ops.full(empty.shape, neutral(node), x.dtype)
        return function(x, axes, keepdims=keepdims)

    return reduce


def _sum(node: OnnxNode, x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return ops.sum(x, axes, keepdims=keepdims)


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceL1": lambda node, x, axes, keep: ops.sum(ops.abs(x), axes, keepdims=keep),
    "ReduceL2": lambda node, x, axes, keep: ops.sqrt(
        ops.sum(
            ops.square(x) if not is_integer(node.in_types[0]) else _floats(x) ** 2,
            axes,
            keepdims=keep,
        )
    ),
    "ReduceLogSum": lambda node, x, axes, keep: ops.log(ops.sum(_floats(x), axes, keepdims=keep)),
    "ReduceLogSumExp": lambda node, x, axes, keep: ops.logsumexp(_floats(x), axes, keepdims=keep),
    "ReduceMax": _extreme(ops.max, ops.any, least),
    "ReduceMean": lambda node, x, axes, keep: ops.mean(x, axes, keepdims=keep),
    "ReduceMin": _extreme(ops.min, ops.all, largest),
    "ReduceProd": lambda node, x, axes, keep: ops.prod(x, axes, keepdims=keep),
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda node, x, axes, keep: ops.sum(x * x, axes, keepdims=keep),
}


def _floats(x: Tensor) -> Tensor:
    return ops.astype(x, "float32") if x.dtype == "int32" else x


def _reduction(reduce: Reduction) -> Callable[..., Tensor]:
    def run(node: OnnxNode, x: Tensor, axes: Array | None = None) -> Tensor:
        given = node.attr("axes") if axes is None else ints(axes)
        keepdims = bool(node.attr("keepdims"))
        if given:
            return reduce(node, x, tuple(i % x.ndim for i in given), keepdims)
        if node.attr("noop_with_empty_axes", 0):  # each element alone
            return reduce(node, ops.expand_dims(x, 0), (0,), False)
        return reduce(node, x, None, keepdims)

    return run


for _name, _reduce in _REDUCTIONS.items():
    operator(_name, host=(1,))(_reduction(_reduce))


def _place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(node: OnnxNode, x: Tensor) -> Tensor:
        axis, keepdims = node.attr("axis") % x.ndim, bool(node.attr("keepdims"))
        if not node.attr("select_last_index", 0):
            return function(x, axis, keepdims=keepdims)
        return ops.subtract(x.shape[axis] - 1, function(ops.flip(x, axis), axis, keepdims=keepdims))

    return run


operator("ArgMax")(_place(ops.argmax))
operator("ArgMin")(_place(ops.argmin))


def _running(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(node: OnnxNode, x: Tensor, axis: Array) -> Tensor:
        options = {name: bool(node.attr(name)) for name in ("exclusive", "reverse")}
        return function(x, int(np.ravel(axis)[0]), **options)

    return run


operator("CumSum", host=(1,))(_running(ops.cumulative_sum))
operator("CumProd", host=(1,))(_running(ops.cumulative_prod))


def _along(function: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """Return what normalises along an axis; before version 13 all axes from there on were one."""

    def run(node: OnnxNode, x: Tensor) -> Tensor:
        axis = node.attr("axis") % max(x.ndim, 1)
        if node.version >= 13 or axis == x.ndim - 1:
            return function(x, axis)
        rows = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))  # where one is 0, too
        return ops.reshape(function(ops.reshape(x, rows), -1), x.shape)

    return run


def _hardmax(x: Tensor, axis: int) -> Tensor:
    if x.shape[axis] <= 1:  # one_hot wants at least 2
        return ops.ones_like(x)
    hot = ops.one_hot(ops.argmax(x, axis), x.shape[axis], dtype=x.dtype)
    return ops.moveaxis(hot, -1, axis)


operator("Softmax")(_along(ops.softmax))
operator("LogSoftmax")(_along(ops.log_softmax))
operator("Hardmax")(_along(_hardmax))


@operator("TopK", host=(1,))
def top_k(node: OnnxNode, x: Tensor, k: Array | None = None) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest or smallest along an axis, in order, and their places."""
    count = node.attr("k") if k is None else int(np.ravel(k)[0])
    axis = node.attr("axis", -1)
    found, places = ops.topk(
        ops.moveaxis(x, axis, -1), count, largest=bool(node.attr("largest", 1))
    )
    return ops.moveaxis(found, -1, axis), ops.moveaxis(places, -1, axis)
