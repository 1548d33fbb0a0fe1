"""Shape arithmetic in NumPy, in int64: what computes a node whose inputs are all on the host."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.operators.casts import cast
from wgsl_kernels.onnx.operators.reductions import largest, least
from wgsl_kernels.onnx.operators.shapes import cuts, new_lengths, part_lengths
from wgsl_kernels.onnx.registry import on_host
from wgsl_kernels.onnx.running import ints
from wgsl_kernels.onnx.types import carried, element, is_integer, numpy_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *xs: function(*xs)


def _axes(node: OnnxNode, axes: Array | None) -> tuple[int, ...] | None:
    given = node.attr("axes") if axes is None else ints(axes)
    return tuple(given) if given else None


def _extreme(
    function: Callable[..., Any], of_nothing: Callable[[OnnxNode], Any]
) -> Callable[..., Any]:
    """Return a reduction that has a value of nothing: that of the operator on a device."""

    def run(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
        reduce = functools.partial(function, initial=of_nothing(node))
        return _reduced(function if x.size else reduce)(node, x, axes)

    return run


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(node: OnnxNode, x: Array, axes: Array | None = None) -> Any:
        along = _axes(node, axes)
        if along is None and node.attr("noop_with_empty_axes", 0):
            return x
        return np.asarray(function(x, axis=along, keepdims=bool(node.attr("keepdims"))))

    return run


def _cast(node: OnnxNode, x: Array) -> Any:
    kind = element(node.out_types[0])
    if is_integer(kind) or kind == "bool":
        return x.astype(numpy_type(kind))
    return cast(node, carried(x))


def _divide(node: OnnxNode, a: Array, b: Array) -> Array:
    size = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.asarray(np.where((a < 0) != (b < 0), -size, size))


def _gather(node: OnnxNode, x: Array, places: Array) -> Array:
    return np.asarray(np.take(x, places, axis=node.attr("axis")))


def _reshape(node: OnnxNode, x: Array, shape: Array | None = None) -> Array:
    return x.reshape(new_lengths(node, x.shape, shape))


def _unsqueeze(node: OnnxNode, x: Array, axes: Array | None = None) -> Array:
    return np.expand_dims(x, _axes(node, axes) or ())


def _split(node: OnnxNode, x: Array, sizes: Array | None = None) -> tuple[Array, ...]:
    axis = node.attr("axis")
    ends = np.cumsum(part_lengths(node, x.shape[axis], sizes)[:-1], dtype=np.int64)
    return tuple(np.split(x, ends, axis))


def _slice(node: OnnxNode, x: Array, *bounds: Array | None) -> Array:
    padded = (*bounds, *(None,) * (4 - len(bounds)))
    return x[cuts(node, x.shape, *padded)]


def _fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda node, *xs: np.asarray(functools.reduce(function, xs))


_TABLE: Mapping[str, Callable[..., Any]] = {
    "Abs": _plain(np.abs),
    "Add": _plain(np.add),
    "And": _plain(np.logical_and),
    "Cast": _cast,
    "Concat": lambda node, *xs: np.concatenate(xs, node.attr("axis")),
    "Div": _divide,
    "Equal": _plain(np.equal),
    "Expand": lambda node, x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, ints(shape))),
    "Flatten": lambda node, x: x.reshape(int(np.prod(x.shape[: node.attr("axis")])), -1),
    "Gather": _gather,
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Identity": lambda node, x: x,
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Max": _fold(np.maximum),
    "Min": _fold(np.minimum),
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "ReduceMax": _extreme(np.max, least),
    "ReduceMin": _extreme(np.min, largest),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": lambda node, x, axes=None: np.squeeze(x, _axes(node, axes)),
    "Sub": _plain(np.subtract),
    "Sum": _fold(np.add),
    "Transpose": lambda node, x: np.transpose(x, node.attr("perm")),
    "Unsqueeze": _unsqueeze,
    "Where": _plain(np.where),
    "Xor": _plain(np.logical_xor),
}
for _name, _function in _TABLE.items():
    on_host(_name, _function)
