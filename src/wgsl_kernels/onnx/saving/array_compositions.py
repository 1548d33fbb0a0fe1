"""Kernels of windows, places and order, and attention, as other kernels that formats have."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.values.windows import slide
from wgsl_kernels.onnx.saving.tracing import CannotSayError
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.saving.tracing import Composition


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **attrs: Any
) -> tuple[Tensor, Tensor]:
    batch, heads, steps, size = query.shape
    key_heads, length = key.shape[1:3]
    if not length:
        raise CannotSayError("of no keys")
    grouped = (batch, key_heads, heads // key_heads * steps)  # queries side by side share a key
    q = ops.reshape(query * attrs["scale"], (*grouped, size))
    scores = ops.matmul(q, ops.permute_dims(key, (0, 1, 3, 2)))
    scores = ops.reshape(scores, (batch, heads, steps, length))
    if mask is not None:
        allowed = mask if mask.dtype == "bool" else None
        scores = ops.where(allowed, scores, -math.inf) if allowed is not None else scores + mask
    if attrs["causal"]:
        triangle = np.tri(steps, length, length - steps, dtype=np.bool_)
        scores = ops.where(triangle, scores, -math.inf)
    lowest = float(np.finfo(str(query.dtype)).min)
    weights = ops.softmax(ops.maximum(scores, lowest))
    weights = ops.where(scores == -math.inf, 0.0, weights)
    found = ops.matmul(ops.reshape(weights, (*grouped, length)), value)
    shape = (batch, heads, steps, value.shape[-1])
    return ops.reshape(found, shape), ops.logsumexp(scores, axis=-1)


def _avg_pool_grad(dy: Tensor, input: Tensor, *, filter_size: Any, **attrs: Any) -> Tensor:
    """Multiply by a matrix along each spatial axis: a window's share in each element."""
    count = input.ndim - 2
    sizes = (filter_size,) * count if isinstance(filter_size, int) else tuple(filter_size)
    if 0 in input.shape or attrs["dim_rounding_mode"] not in (None, "floor"):
        raise CannotSayError("of no elements, or with dim_rounding_mode")
    sliding = slide("save", input.shape, sizes, **attrs)
    first = 2 if sliding.is_channels_first else 1
    for i, one in enumerate(sliding.axes):
        shares = np.zeros((one.size, one.out), np.float32)
        for tap in range(one.window):
            inside = one.inside(tap)
            at = np.arange(one.out) * one.stride + tap * one.dilation - one.before
            shares[at[inside], np.flatnonzero(inside)] += 1 / one.counts()[inside]
        moved = ops.matmul(ops.moveaxis(dy, first + i, -1), shares.T)
        dy = ops.moveaxis(moved, -1, first + i)
    return dy


def _batch_to_space(x: Tensor, *, block_shape: Sequence[int], crops: Any) -> Tensor:
    blocks, count = list(block_shape), len(block_shape)
    batch, *lengths = x.shape
    spatial, rest = lengths[:count], lengths[count:]
    outer = batch // math.prod(blocks)
    z = ops.reshape(x, (*blocks, outer, *spatial, *rest))
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += range(2 * count + 1, z.ndim)
    whole = [n * b for n, b in zip(spatial, blocks, strict=True)]
    z = ops.reshape(ops.permute_dims(z, tuple(order)), (outer, *whole, *rest))
    begin = [0, *(int(a) for a, _ in crops), *(0 for _ in rest)]
    size = [n - int(a) - int(b) for n, (a, b) in zip(whole, crops, strict=True)]
    return ops.slice(z, begin, [outer, *size, *rest])


def _space_to_batch(x: Tensor, *, block_shape: Sequence[int], paddings: Any) -> Tensor:
    blocks, count = list(block_shape), len(block_shape)
    widths = [(0, 0), *((int(a), int(b)) for a, b in paddings)]
    z = ops.pad(x, [*widths, *[(0, 0)] * (x.ndim - len(widths))])
    batch, *lengths = z.shape
    spatial, rest = lengths[:count], lengths[count:]
    cut = [n for length, b in zip(spatial, blocks, strict=True) for n in (length // b, b)]
    z = ops.reshape(z, (batch, *cut, *rest))
    order = [2 + 2 * i for i in range(count)] + [0] + [1 + 2 * i for i in range(count)]
    order += range(2 * count + 1, z.ndim)
    shape = [n // b for n, b in zip(spatial, blocks, strict=True)]
    outer = batch * math.prod(blocks)
    return ops.reshape(ops.permute_dims(z, tuple(order)), (outer, *shape, *rest))


def _bincount(x: Tensor, weights: Tensor, *, size: int) -> Tensor:
    return _dense_bincount(ops.reshape(x, (-1,)), weights, size=size, binary_output=False)


def _dense_bincount(x: Tensor, weights: Tensor, *, size: int, binary_output: bool) -> Tensor:
    if not x.size or not size:
        raise CannotSayError("of no elements")
    marks = ops.one_hot(x, size, dtype=weights.dtype)
    if binary_output:
        return ops.max(marks, -2)
    if weights.size:
        marks = marks * ops.expand_dims(ops.reshape(weights, x.shape), -1)
    return ops.sum(marks, -2)


def _depth_to_space(x: Tensor, *, block_size: int, data_format: str) -> Tensor:
    size, last = block_size, data_format == "NHWC"
    z = x if last else ops.permute_dims(x, (0, 2, 3, 1))
    batch, high, wide, channels = z.shape
    rest = channels // size**2
    z = ops.reshape(z, (batch, high, wide, size, size, rest))
    z = ops.reshape(
        ops.permute_dims(z, (0, 1, 3, 2, 4, 5)), (batch, high * size, wide * size, rest)
    )
    return z if last else ops.permute_dims(z, (0, 3, 1, 2))


def _dilation(x: Tensor, filters: Tensor, *, strides: Any, pad: Any, dilations: Any) -> Tensor:
    rows, cols, _ = filters.shape
    sliding = slide("save", x.shape, (rows, cols), strides=strides, pad=pad, dilations=dilations)
    widths = [(0, 0), *((axis.before, axis.after) for axis in sliding.axes), (0, 0)]
    padded = ops.pad(x, widths, constant_value=-math.inf)
    found = None
    for i in range(rows):
        for j in range(cols):
            part = padded[:, sliding.rows.places(i), sliding.cols.places(j)] + filters[i, j]
            found = part if found is None else ops.maximum(found, part)
    assert found is not None, "a filter has elements"
    return found


def _flip_left_right(image: Tensor) -> Tensor:
    return ops.flip(image, -2)


def _max_pool_grad(dy: Tensor, input: Tensor, output: Tensor, **attrs: Any) -> Tensor:
    shared = {name: attrs[name] for name in ("filter_size", "strides", "pad")}
    if attrs["dilations"] not in (1, (1, 1)) or attrs["data_format"] != "NHWC":
        raise CannotSayError("with dilations, or channels that come first")
    if not isinstance(attrs["pad"], str):
        raise CannotSayError("with a pad in numbers")
    places = run_many("MaxPoolWithArgmax", input, include_batch_in_index=True, **shared)[1]
    rows = ops.reshape(places, (-1, 1))
    found = run("ScatterNd", rows, ops.reshape(dy, (-1,)), shape=(input.size,))
    return ops.reshape(found, input.shape)


def _pool(input: Tensor, *, pooling_type: str, window_shape: Any, **attrs: Any) -> Tensor:
    if input.ndim not in (4, 5):
        raise CannotSayError(f"of {input.ndim} axes")
    name = {"avg": "AvgPool", "max": "MaxPool"}[pooling_type] + ("3D" if input.ndim == 5 else "")
    return run(name, input, filter_size=window_shape, **attrs)


def _resize_grad(kernel: str) -> Composition:
    def compose(images: Tensor, dy: Tensor, *, size: Any = None, **attrs: Any) -> Tensor:
        """Multiply by the matrices of both axes: that of rows is what resizing makes of 1s."""
        if images.ndim != 4:
            raise CannotSayError(f"of {images.ndim} axes")

        def matrix(length: int, new: int) -> Tensor:
            ones = np.eye(length, dtype=np.float32).reshape(1, length, 1, length)
            return ops.reshape(run(kernel, ones, size=(new, 1), **attrs), (new, length))

        (batch, high, wide, channels), (_, new_high, new_wide, _) = images.shape, dy.shape
        rows, cols = matrix(high, new_high), matrix(wide, new_wide)
        tall = ops.reshape(dy, (batch, new_high, new_wide * channels))
        tall = ops.matmul(ops.permute_dims(rows, (1, 0)), tall)
        tall = ops.reshape(tall, (batch, high, new_wide, channels))
        return ops.matmul(ops.permute_dims(cols, (1, 0)), tall)

    return compose


def _roll(x: Tensor, *, shift: Any, axis: Any) -> Tensor:
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] if isinstance(shift, int) else list(shift)
    shifts *= len(axes) if len(shifts) == 1 else 1
    for step, at in zip(shifts, axes, strict=True):
        length = x.shape[at]
        first = int(step) % length if length else 0
        if first:
            parts = ops.split(x, [length - first, first], at)
            x = ops.concat([parts[1], parts[0]], at)
    return x * 1 if not any(shifts) else x


def _bound(side: str) -> Composition:
    def compose(sorted_sequence: Tensor, values: Tensor) -> Tensor:
        return _search(sorted_sequence, values, side=side, nan_last=False)

    return compose


def _search(sorted_sequence: Tensor, values: Tensor, *, side: str, nan_last: bool) -> Tensor:
    """Count the numbers that come before each value."""
    rows, wanted = ops.expand_dims(sorted_sequence, -2), ops.expand_dims(values, -1)
    before = rows < wanted if side == "left" else rows <= wanted
    if "float" in str(values.dtype):
        last = ops.isnan(wanted if nan_last else rows)
        other = ops.isnan(rows if nan_last else wanted)
        if side == "left":
            last = ops.logical_and(last, ops.logical_not(other))
        before = ops.logical_or(before, last)
    return ops.sum(ops.astype(before, "int32"), -1)


def _sort(x: Tensor, *, axis: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Take the largest of all; of negated values, or of inverted bits, for the other order."""
    if not x.size or not x.ndim or x.dtype == "bool":
        raise CannotSayError("of no axis, no elements or bool")

    def turned(z: Tensor) -> Tensor:
        return z if descending else -1 - z if z.dtype == "int32" else -z

    rows = turned(ops.moveaxis(x, axis, -1))
    values, places = run_many("TopK", rows, k=x.shape[axis])
    return ops.moveaxis(turned(values), -1, axis), ops.moveaxis(places, -1, axis)


def _take_along_axis(
    x: Tensor, indices: Tensor, *, axis: int, wrap_negative_indices: bool
) -> Tensor:
    lengths = [n for i, n in enumerate(x.shape) if i != axis % x.ndim]
    if lengths != [n for i, n in enumerate(indices.shape) if i != axis % x.ndim]:
        raise CannotSayError("of shapes that broadcast")
    rows, places = ops.moveaxis(x, axis, -1), ops.moveaxis(indices, axis, -1)
    shared = {"axis": x.ndim - 1, "batch_dims": x.ndim - 1}
    found = run("GatherV2", rows, places, wrap_negative_indices=wrap_negative_indices, **shared)
    return ops.moveaxis(found, -1, axis)


def _rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor | None = None,
    *,
    interleaved: bool,
    axis: int,
    inverse: bool,
) -> Tensor:
    at, half = axis % x.ndim, cos.shape[-1]
    if positions is not None:
        cos, sin = ops.take(cos, positions, axis=0), ops.take(sin, positions, axis=0)
    where = [1] * x.ndim
    where[at], where[-1] = x.shape[at], half
    where[0] = x.shape[0] if cos.ndim == 3 else where[0]
    c, s = ops.reshape(cos, where), ops.reshape(-sin if inverse else sin, where)
    ends = (*x.shape[:-1], half, 2) if interleaved else (*x.shape[:-1], 2, half)
    pairs = -1 if interleaved else -2
    one, two = ops.unstack(ops.reshape(x[..., : 2 * half], ends), axis=pairs)
    turned = ops.stack([one * c - two * s, two * c + one * s], axis=pairs)
    rest = x[..., 2 * half :]
    return ops.concat([ops.reshape(turned, (*x.shape[:-1], 2 * half)), rest], axis=-1)


def _segment_sum(x: Tensor, segment_ids: Tensor, *, num_segments: int) -> Tensor:
    """Add rows into zeros, with one more for those of no segment."""
    outside = ops.logical_or(segment_ids < 0, segment_ids >= num_segments)
    rows = ops.reshape(ops.where(outside, num_segments, segment_ids), (-1, 1))
    inner = x.shape[segment_ids.ndim :]
    updates = ops.reshape(x, (segment_ids.size, *inner))
    found = run("ScatterNd", rows, updates, shape=(num_segments + 1, *inner))
    return found[:num_segments]


COMPOSITIONS: Mapping[str, Composition] = MappingProxyType(
    {
        "Attention": _attention,
        "AvgPool3DGrad": _avg_pool_grad,
        "AvgPoolGrad": _avg_pool_grad,
        "BatchToSpaceND": _batch_to_space,
        "Bincount": _bincount,
        "DenseBincount": _dense_bincount,
        "DepthToSpace": _depth_to_space,
        "Dilation2D": _dilation,
        "FlipLeftRight": _flip_left_right,
        "LowerBound": _bound("left"),
        "MaxPoolGrad": _max_pool_grad,
        "Pool": _pool,
        "ResizeBilinearGrad": _resize_grad("ResizeBilinear"),
        "ResizeNearestNeighborGrad": _resize_grad("ResizeNearestNeighbor"),
        "Roll": _roll,
        "RotaryEmbedding": _rotary,
        "SearchSorted": _search,
        "Sort": _sort,
        "SpaceToBatchND": _space_to_batch,
        "TakeAlongAxis": _take_along_axis,
        "UnsortedSegmentSum": _segment_sum,
        "UpperBound": _bound("right"),
    }
)
