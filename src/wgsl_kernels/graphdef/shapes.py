"""TensorFlow's operators of shapes: reshaping, joining, cutting, padding, making tensors.

What they do to integers on the host, where a graph computes shapes, is NumPy's.
Source: TensorFlow, core/ops/array_ops.cc, math_ops.cc.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.values.shapes import normalize_axes
from wgsl_kernels.graphdef.attributes import ELEMENTS
from wgsl_kernels.graphdef.rules import rule
from wgsl_kernels.onnx.rules.shapes import MASKS, strided
from wgsl_kernels.onnx.running import ints, known_shape
from wgsl_kernels.onnx.types import CARRIERS
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeName
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


_MOST = 1 << 24


def pairs(values: Any) -> list[tuple[int, int]]:
    """Return rows of two integers."""
    return [(int(first), int(last)) for first, last in np.asarray(values)]


def carrier(name: str | None) -> DTypeName:
    """Return the dtype of tensors that carry one of TensorFlow's."""
    return CARRIERS[ELEMENTS[str(name)]]


def bounded(size: float) -> int:
    """Return a number of elements that an array on the host may have.

    Raises:
        ValueError: They are more than a graph has reason to compute there.
    """
    if not size <= _MOST:
        raise ValueError(f"{size} elements on the host; want at most {_MOST}")
    return int(size)


def _lengths(x: Any) -> Array:
    return np.array(known_shape(x), np.int32)


@rule("Shape", raw=True)
def shape_of(node: OnnxNode, x: Any) -> Array:
    """Return the lengths of ``x``, on the host."""
    return _lengths(x)


@rule("ShapeN", raw=True, outputs="N")
def shapes_of(node: OnnxNode, *xs: Any) -> tuple[Array, ...]:
    """Return the lengths of tensors, on the host."""
    return tuple(map(_lengths, xs))


@rule("Size", raw=True)
def size_of(node: OnnxNode, x: Any) -> Array:
    """Return the number of elements, on the host."""
    return np.array(math.prod(known_shape(x)), np.int32)


@rule("Rank", raw=True)
def rank_of(node: OnnxNode, x: Any) -> Array:
    """Return the number of axes, on the host."""
    return np.array(len(known_shape(x)), np.int32)


def _squeezed(node: OnnxNode, x: Any) -> tuple[int, ...]:
    given = node.attr("squeeze_dims") or node.attr("axis") or range(x.ndim)
    axes = normalize_axes(node.op, tuple(given), x.ndim)
    chosen = {a for a in axes if node.attr("squeeze_dims") or x.shape[a] == 1}
    if any(x.shape[a] != 1 for a in chosen):
        raise ValueError(f"axes {list(axes)} are not all of length 1")
    return tuple(n for i, n in enumerate(x.shape) if i not in chosen)


@rule("Squeeze", numpy=lambda node, x: x.reshape(_squeezed(node, x)))
def squeeze(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` without axes of length 1."""
    return ops.reshape(x, _squeezed(node, x))


@rule("ExpandDims", host=(1,), numpy=lambda node, x, axis: np.expand_dims(x, int(axis)))
def expand_dims(node: OnnxNode, x: Tensor, axis: Array) -> Tensor:
    """Return ``x`` with a new axis of length 1."""
    return ops.expand_dims(x, int(axis))


def _broadcast_on_host(x: Array, shape: tuple[int, ...]) -> Array:
    bounded(math.prod(shape))
    return np.broadcast_to(x, shape)


def _tiled_on_host(x: Array, times: tuple[int, ...]) -> Array:
    bounded(x.size * math.prod(times))
    return np.tile(x, times)


def _by_ints(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, x, values: function(x, ints(values))


for _name, _op, _function in (
    ("BroadcastTo", ops.broadcast_to, _broadcast_on_host),
    ("Reshape", ops.reshape, np.reshape),
    ("ReverseV2", ops.flip, np.flip),
    ("Tile", ops.tile, _tiled_on_host),
    ("Transpose", ops.permute_dims, np.transpose),
):
    rule(_name, host=(1,), numpy=_by_ints(_function))(_by_ints(_op))


def _broadcast_shape(node: OnnxNode, a: Array, b: Array) -> Array:
    return np.array(np.broadcast_shapes(ints(a), ints(b)), np.int32)


rule("BroadcastArgs", host=(0, 1), numpy=_broadcast_shape)(_broadcast_shape)


@rule("ConcatV2", host=(-1,), numpy=lambda node, *given: np.concatenate(given[:-1], int(given[-1])))
def concat(node: OnnxNode, *given: Any) -> Tensor:
    """Return tensors joined along an axis, which comes last."""
    return ops.concat(list(given[:-1]), int(given[-1]))


@rule("Concat", host=(0,), numpy=lambda node, axis, *given: np.concatenate(given, int(axis)))
def concat_by_first(node: OnnxNode, axis: Array, *given: Tensor) -> Tensor:
    """Return tensors joined along an axis, which comes first."""
    return ops.concat(list(given), int(axis))


@rule("Pack", numpy=lambda node, *xs: np.stack(xs, node.attr("axis", 0)))
def pack(node: OnnxNode, *xs: Tensor) -> Tensor:
    """Return tensors of one shape along a new axis."""
    return ops.stack(list(xs), node.attr("axis", 0))


@rule("Unpack", outputs="num", numpy=lambda node, x: tuple(np.moveaxis(x, node.attr("axis", 0), 0)))
def unpack(node: OnnxNode, x: Tensor) -> tuple[Tensor, ...]:
    """Return the slices of ``x`` along an axis, without it."""
    axis = node.attr("axis", 0)
    return tuple(ops.squeeze(one, axis) for one in ops.split(x, x.shape[axis], axis))


@rule("Split", host=(0,), outputs="num_split")
def split(node: OnnxNode, axis: Array, x: Tensor) -> tuple[Tensor, ...]:
    """Return equal parts of ``x``."""
    return ops.split(x, node.attrs["num_split"], int(axis))


@rule("SplitV", host=(1, 2), outputs="num_split")
def split_by_sizes(node: OnnxNode, x: Tensor, sizes: Array, axis: Array) -> tuple[Tensor, ...]:
    """Return parts of ``x`` of given lengths."""
    return ops.split(x, list(ints(sizes)), int(axis))


def _slice(node: OnnxNode, x: Any, begin: Array, size: Array) -> Any:
    cuts = zip(x.shape, ints(begin), ints(size), strict=True)
    ends = [(n, first, n if count == -1 else first + count) for n, first, count in cuts]
    if any(not 0 <= first <= last <= n for n, first, last in ends):
        raise ValueError(f"begin {begin.tolist()} and size {size.tolist()} are outside")
    return x[tuple(slice(first, last) for _, first, last in ends)]


rule("Slice", host=(1, 2), numpy=_slice)(_slice)


def _strided_slice(node: OnnxNode, x: Any, begin: Array, end: Array, strides: Array) -> Any:
    """Return the part of ``x`` that Python's index of the same kind gives."""
    given = {one: node.attr(one, 0) for one in MASKS}
    given |= {"begin": ints(begin), "end": ints(end), "strides": ints(strides)}
    return x[tuple(strided(given, x.ndim))]


rule("StridedSlice", host=(1, 2, 3), numpy=_strided_slice)(_strided_slice)


@rule("Pad", "PadV2", host=(1, 2))
def pad(node: OnnxNode, x: Tensor, widths: Array, value: Array | None = None) -> Tensor:
    """Return ``x`` with elements of one value around it."""
    fill = 0 if value is None else value.item()
    return ops.pad(x, pairs(widths), constant_value=fill)


@rule("MirrorPad", host=(1,))
def mirror_pad(node: OnnxNode, x: Tensor, widths: Array) -> Tensor:
    """Return ``x`` with its mirror image around it."""
    return ops.pad(x, pairs(widths), mode=str(node.attrs["mode"]).lower())


def _filled_on_host(node: OnnxNode, shape: Array, value: Array) -> Array:
    bounded(math.prod(ints(shape)))
    return np.full(ints(shape), value)


@rule("Fill", host=(0, 1), numpy=_filled_on_host)
def fill(node: OnnxNode, shape: Array, value: Array) -> Tensor:
    """Return one value in a shape."""
    return ops.full(ints(shape), value.item(), carrier(node.attrs["T"]))


@rule("Range", host=(0, 1, 2))
def arange(node: OnnxNode, start: Array, limit: Array, delta: Array) -> Array:
    """Return numbers from ``start`` on, before ``limit``, on the host as shapes are."""
    bounded((limit.item() - start.item()) / delta.item())
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@rule("LinSpace", host=(0, 1, 2))
def linspace(node: OnnxNode, start: Array, stop: Array, num: Array) -> Array:
    """Return numbers evenly spaced, both ends included."""
    return np.linspace(start.item(), stop.item(), bounded(num.item()), dtype=np.float32)


@rule("OneHot", host=(1, 2, 3))
def one_hot(node: OnnxNode, indices: Tensor, depth: Array, on: Array, off: Array) -> Tensor:
    """Return ``on`` at each index along a new axis, ``off`` elsewhere."""
    found = ops.one_hot(
        indices,
        int(depth),
        on_value=on.item(),
        off_value=off.item(),
        dtype=carrier(node.attr("T", "DT_FLOAT")),
    )
    return ops.moveaxis(found, -1, node.attr("axis", -1))
