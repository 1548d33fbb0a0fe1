"""Shapes: reshaping, moving axes, joining, cutting, padding; and tensors made from shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import check_table, ints, known_shape
from wgsl_kernels.onnx.types import CARRIERS, element
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("Concat")
def concat(node: OnnxNode, *xs: Tensor) -> Tensor:
    """Return tensors joined along an axis."""
    return ops.concat(xs, node.attr("axis", 1))


@operator("Expand", host=(1,))
def expand(node: OnnxNode, x: Tensor, shape: Array) -> Tensor:
    """Return ``x`` repeated to the shape that it and ``shape`` broadcast to."""
    return ops.broadcast_to(x, np.broadcast_shapes(tuple(x.shape), ints(shape)))


@operator("Flatten")
def flatten(node: OnnxNode, x: Tensor) -> Tensor:
    """Return a matrix: the axes before ``axis`` are its rows."""
    axis = node.attr("axis")
    axis = axis + x.ndim if axis < 0 else axis
    return ops.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@operator("Reshape", host=(1,))
def reshape(node: OnnxNode, x: Tensor, shape: Array | None = None) -> Tensor:
    """Return ``x`` in another shape; 0 is the length that is there, -1 what is left."""
    wanted = new_lengths(node, x.shape, shape)
    if x.size == 0 and -1 in wanted:
        wanted[wanted.index(-1)] = 0
    return ops.reshape(x, tuple(wanted))


def new_lengths(node: OnnxNode, there: tuple[int, ...], shape: Array | None) -> list[int]:
    """Return the lengths that ``Reshape`` asks for, with those put in that are kept."""
    wanted = list(node.attr("shape") if shape is None else ints(shape))
    if not node.attr("allowzero", 0):
        wanted = [there[i] if n == 0 else n for i, n in enumerate(wanted)]
    return wanted


@operator("Transpose")
def transpose(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` with its axes in another order."""
    return ops.permute_dims(x, tuple(node.attr("perm") or range(x.ndim)[::-1]))


@operator("Squeeze", host=(1,))
def squeeze(node: OnnxNode, x: Tensor, axes: Array | None = None) -> Tensor:
    """Return ``x`` without axes of length 1."""
    given = node.attr("axes") if axes is None else ints(axes)
    return ops.squeeze(x, None if given is None else tuple(given))


@operator("Unsqueeze", host=(1,))
def unsqueeze(node: OnnxNode, x: Tensor, axes: Array | None = None) -> Tensor:
    """Return ``x`` with new axes of length 1, counted in the result."""
    given = node.attr("axes") if axes is None else ints(axes)
    ndim = x.ndim + len(given)
    new = {axis % ndim for axis in given}
    old = iter(x.shape)
    return ops.reshape(x, tuple(1 if i in new else next(old) for i in range(ndim)))


@operator("Slice", host=(1, 2, 3, 4))
def cut(
    node: OnnxNode,
    x: Tensor,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Tensor:
    """Return a part of ``x``: from, to and step along some axes."""
    return x[cuts(node, x.shape, starts, ends, axes, steps)]


def cuts(
    node: OnnxNode,
    shape: tuple[int, ...],
    starts: Array | None,
    ends: Array | None,
    axes: Array | None,
    steps: Array | None,
) -> tuple[slice, ...]:
    """Return the slices, one an axis, that ``Slice`` asks for."""
    first = node.attr("starts") if starts is None else ints(starts)
    last = node.attr("ends") or () if ends is None else ints(ends)
    along = node.attr("axes") if axes is None else ints(axes)
    step = (1,) * len(first) if steps is None else ints(steps)
    found = [slice(None)] * len(shape)
    for start, end, axis, stride in zip(
        first, last, along or range(len(first)), step, strict=False
    ):
        length = shape[axis]
        low, high = (0, length) if stride > 0 else (-1, length - 1)
        begin = min(max(start + length if start < 0 else start, max(low, 0)), high)
        stop = min(max(end + length if end < 0 else end, low), high)
        found[axis] = slice(max(begin, 0), None if stop < 0 else stop, stride)
        if length == 0 or (stride < 0 and begin < 0):
            found[axis] = slice(0, 0)
    return tuple(found)


@operator("Split", host=(1,))
def split(node: OnnxNode, x: Tensor, sizes: Array | None = None) -> tuple[Tensor, ...]:
    """Return parts of ``x`` along an axis, of given sizes or nearly equal ones."""
    axis = node.attr("axis")
    return ops.split(x, part_lengths(node, x.shape[axis], sizes), axis)


def part_lengths(node: OnnxNode, length: int, sizes: Array | None) -> list[int]:
    """Return the lengths of the parts that ``Split`` asks for."""
    given = node.attr("split") if sizes is None else ints(sizes)
    if given:
        return list(given)
    count = node.attr("num_outputs") or len(node.outputs)
    size = -(-length // count)
    return [size] * (count - 1) + [length - size * (count - 1)]


@operator("Tile", host=(1, 2))
def tile(node: OnnxNode, x: Tensor, repeats: Array, axis: Array | None = None) -> Tensor:
    """Return ``x`` repeated along its axes; before version 6 along one."""
    if axis is None:
        return ops.tile(x, ints(repeats))
    times = [1] * x.ndim
    times[int(np.ravel(axis)[0])] = int(np.ravel(repeats)[0])
    return ops.tile(x, tuple(times))


@operator("Shape", raw=True)
def shape_of(node: OnnxNode, x: Any) -> Array:
    """Return the lengths of ``x``, or of some axes, on the host."""
    return np.array(known_shape(x), np.int64)[node.attr("start", 0) : node.attr("end")]


@operator("Size", raw=True)
def size_of(node: OnnxNode, x: Any) -> Array:
    """Return the number of elements, on the host."""
    return np.array(math.prod(known_shape(x)), np.int64)


@operator("Pad", host=(1, 2, 3))
def pad(
    node: OnnxNode,
    x: Tensor,
    pads: Array | None = None,
    value: Array | None = None,
    axes: Array | None = None,
) -> Tensor:
    """Return ``x`` with elements added at the ends of axes, or taken away where fewer than 0."""
    widths = (node.attr("pads") or node.attr("paddings")) if pads is None else ints(pads)
    along = list(range(x.ndim)) if axes is None else [a % x.ndim for a in ints(axes)]
    pairs = [(0, 0)] * x.ndim
    for i, axis in enumerate(along):
        pairs[axis] = (widths[i], widths[i + len(along)])
    if node.attr("mode") != "constant":
        return _framed(x, pairs, mode=node.attr("mode"))
    fill = node.attr("value", 0) if value is None else np.asarray(value).item()
    return _framed(x, pairs, constant_value=fill)


def _framed(x: Tensor, pairs: Sequence[tuple[int, int]], **options: Any) -> Tensor:
    """Return ``x`` cut where widths are below 0, and padded where they are above."""
    if any(n < 0 for pair in pairs for n in pair):
        ends = zip(x.shape, pairs, strict=True)
        x = x[tuple(slice(max(0, -a), n - max(0, -b)) for n, (a, b) in ends)]
    return ops.pad(x, [(max(0, a), max(0, b)) for a, b in pairs], **options)


@operator("CenterCropPad", host=(1,))
def center_crop_pad(node: OnnxNode, x: Tensor, shape: Array) -> Tensor:
    """Return the middle of ``x``, cut or padded with zeros to the lengths asked for."""
    pairs = [(0, 0)] * x.ndim
    for axis, length in zip(node.attr("axes") or range(x.ndim), ints(shape), strict=True):
        more = length - x.shape[axis]
        before = int(more / 2)  # toward 0
        pairs[axis] = (before, more - before)
    return _framed(x, pairs)


@operator("ConstantOfShape", host=(0,))
def constant_of_shape(node: OnnxNode, shape: Array) -> Tensor | Array:
    """Return one value in a shape; of int64 on the host, as shapes are."""
    value = node.attr("value")
    value = np.zeros(1, np.float32) if value is None else value
    lengths = ints(shape)
    if value.dtype == np.int64 and math.prod(lengths) <= 64:
        return np.full(lengths, value.item(), np.int64)
    return ops.full(lengths, value.item(), CARRIERS[element(node.out_types[0])])


@operator("EyeLike", raw=True)
def eye_like(node: OnnxNode, x: Any) -> Tensor:
    """Return ones on a diagonal of a matrix of the shape of ``x``."""
    rows, columns = known_shape(x)
    return ops.eye(rows, columns, k=node.attr("k"), dtype=CARRIERS[element(node.out_types[0])])


@operator("Range", host=(0, 1, 2))
def arange(node: OnnxNode, start: Array, limit: Array, delta: Array) -> Array | Tensor:
    """Return numbers from ``start`` on, below ``limit``; integers on the host, as shapes are."""
    first, last, step = (np.asarray(one).reshape(()) for one in (start, limit, delta))
    if not step:
        raise ArgumentError("Range: delta is 0; want another number.")
    if element(node.out_types[0]) == "int64":
        whole = range(int(first), int(last), int(step))
        check_table(len(whole))
        every: Array = np.arange(whole.start, whole.stop, whole.step, dtype=np.int64)
        return every
    count = max(math.ceil((last.astype(np.float64) - first) / step.astype(np.float64)), 0)
    if first.dtype.kind == "i":
        return ops.arange(count, dtype="int32") * int(step) + int(first)
    return ops.arange(float(count)) * float(step) + float(first)


@operator("Trilu", host=(1,))
def triangle(node: OnnxNode, x: Tensor, k: Array | None = None) -> Tensor:
    """Return the upper or lower triangle of matrices, zeros elsewhere."""
    offset = 0 if k is None else int(np.ravel(k)[0])
    return (ops.triu if node.attr("upper") else ops.tril)(x, offset)


@operator("DepthToSpace")
def depth_to_space(node: OnnxNode, x: Tensor) -> Tensor:
    """Return images with blocks made of channels."""
    size = node.attr("blocksize")
    batch, channels, height, width = x.shape
    depth = channels // size**2
    if node.attr("mode", "DCR") == "DCR":
        blocks = ops.reshape(x, (batch, size, size, depth, height, width))
        moved = ops.permute_dims(blocks, (0, 3, 4, 1, 5, 2))
    else:
        blocks = ops.reshape(x, (batch, depth, size, size, height, width))
        moved = ops.permute_dims(blocks, (0, 1, 4, 2, 5, 3))
    return ops.reshape(moved, (batch, depth, height * size, width * size))


@operator("SpaceToDepth")
def space_to_depth(node: OnnxNode, x: Tensor) -> Tensor:
    """Return images with channels made of blocks."""
    size = node.attr("blocksize")
    batch, channels, height, width = x.shape
    blocks = ops.reshape(x, (batch, channels, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if node.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    moved = ops.permute_dims(blocks, order)
    return ops.reshape(moved, (batch, channels * size**2, height // size, width // size))
