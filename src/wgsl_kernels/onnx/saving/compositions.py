"""Kernels that formats of graphs lack, as other kernels: each function does what its kernel does.

They are called with the kernel's inputs and its attributes by name, while a function is traced.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.values.windows import slide
from wgsl_kernels.onnx.saving.tracing import CannotSayError
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.saving.tracing import Composition


def _floats(*xs: Tensor) -> list[Tensor]:
    """Return values as floats."""
    return [x if "float" in str(x.dtype) else ops.astype(x, "float32") for x in xs]


def _is_below(x: Tensor) -> Tensor:
    """Return whether the sign of floats is minus, as that of -0 is."""
    return ops.where(x == 0.0, 1.0 / x, x) < 0.0


def _add_n(xs: Sequence[Tensor]) -> Tensor:
    found = xs[0]
    for one in xs[1:]:
        found = found + one
    return found


def _atan2(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    high, wide = ops.abs(a), ops.abs(b)
    steep = high > wide
    least, most = ops.where(steep, wide, high), ops.where(steep, high, wide)
    ratio = ops.where(least == most, ops.where(most == 0.0, 0.0, 1.0), least / most)
    ratio = ops.where(ops.isnan(a + b * 0.0), least + most, ratio)
    angle = ops.atan(ratio)
    angle = ops.where(steep, math.pi / 2 - angle, angle)
    angle = ops.where(_is_below(b), math.pi - angle, angle)
    return ops.where(_is_below(a), -angle, angle)


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
    marks = ops.one_hot(x, size, dtype=str(weights.dtype))
    if binary_output:
        return ops.max(marks, -2)
    if weights.size:
        marks = marks * ops.expand_dims(ops.reshape(weights, x.shape), -1)
    return ops.sum(marks, -2)


def _copy_sign(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    size = ops.abs(a)
    return ops.where(_is_below(b), -size, size)


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


def _diag(x: Tensor) -> Tensor:
    count = x.size
    mask = np.eye(count, dtype=np.bool_)
    rows = ops.broadcast_to(ops.reshape(x, (count, 1)), (count, count))
    return ops.reshape(ops.where(mask, rows, ops.zeros_like(rows)), x.shape * 2)


def _dilation(x: Tensor, filters: Tensor, *, strides: Any, pad: Any, dilations: Any) -> Tensor:
    x, filters = _floats(x, filters)
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


def _elu_grad(dy: Tensor, y: Tensor) -> Tensor:
    return ops.where(y >= 0.0, dy, dy * (y + 1.0))


def _expm1(x: Tensor) -> Tensor:
    (x,) = _floats(x)  # (e^x - 1) = tanh(x/2) (e^x + 1), which loses no digits near 0
    return ops.tanh(x * 0.5) * (ops.exp(x) + 1.0)


def _flip_left_right(image: Tensor) -> Tensor:
    return ops.flip(image, -2)


def _floor_div(a: Tensor, b: Tensor, *, as_int32: bool) -> Tensor:
    a, b = _floats(a, b)
    found = ops.floor(a / b)
    return ops.astype(found, "int32") if as_int32 else found


def _fused(kernel: str) -> Composition:
    def compose(
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None = None,
        prelu_activation_weights: Tensor | None = None,
        *,
        activation: str,
        leakyrelu_alpha: float | None,
        **attrs: Any,
    ) -> Tensor:
        found = run(kernel, x, filter, **attrs)
        first = attrs.get("data_format") in ("NCHW", "NCDHW")
        if first and any(one is not None and one.size > 1 for one in (bias, prelu_activation_weights)):
            raise CannotSayError("with a bias or slopes for channels that come first")
        found = found if bias is None else found + bias
        if activation == "leakyrelu":
            return run("LeakyRelu", found, alpha=leakyrelu_alpha)
        if activation == "prelu":
            return run("Prelu", found, prelu_activation_weights)
        if activation == "linear":
            return found
        return run(activation[:1].upper() + activation[1:], found)

    return compose


def _fused_batch_norm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    offset: Tensor | None = None,
    scale: Tensor | None = None,
    *,
    variance_epsilon: float,
) -> Tensor:
    factor = ops.rsqrt(variance + variance_epsilon)
    found = (x - mean) * (factor if scale is None else factor * scale)
    return found if offset is None else found + offset


def _hypot(a: Tensor, b: Tensor) -> Tensor:
    a, b = map(ops.abs, _floats(a, b))
    most, least = ops.maximum(a, b), ops.minimum(a, b)
    ratio = least / ops.where(most == 0.0, 1.0, most)
    found = most * ops.sqrt(ratio * ratio + 1.0)
    return ops.where(ops.isinf(most), most, ops.where(ops.isinf(a), a, found))


def _is_finite(x: Tensor) -> Tensor:
    return ops.logical_not(ops.logical_or(ops.isnan(x), ops.isinf(x)))


def _layer_norm(
    x: Tensor, scale: Tensor | None, offset: Tensor | None, *, axis: int, epsilon: float
) -> Tensor:
    axes = tuple(range(axis % x.ndim, x.ndim))
    apart = x - ops.mean(x, axes, keepdims=True)
    found = apart / ops.sqrt(ops.mean(ops.square(apart), axes, keepdims=True) + epsilon)
    if scale is not None:
        found = found * scale
    return found if offset is None else found + offset


def _log10(x: Tensor) -> Tensor:
    return ops.log(*_floats(x)) * (1 / math.log(10))


def _log1p(x: Tensor) -> Tensor:
    (x,) = _floats(x)  # what 1 + x loses of x is made up for by a factor
    u = x + 1.0
    found = ops.where(u == 1.0, x, ops.log(u) * (x / ops.where(u == 1.0, 1.0, u - 1.0)))
    return ops.where(ops.isinf(u), u, found)


def _log2(x: Tensor) -> Tensor:
    return ops.log(*_floats(x)) * (1 / math.log(2))


def _log_add_exp(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    most = ops.maximum(a, b)
    apart = ops.where(a == b, 0.0, ops.minimum(a, b) - most)
    return most + _log1p(ops.exp(apart))


def _log_sum_exp(x: Tensor, *, axis: Any, keep_dims: bool) -> Tensor:
    if not x.size:
        raise CannotSayError("of no elements")
    (x,) = _floats(x)
    most = ops.max(x, axis, keepdims=True)
    most = ops.where(ops.isinf(most), 0.0, most)
    found = ops.log(ops.sum(ops.exp(x - most), axis, keepdims=True)) + most
    return found if keep_dims else ops.reshape(found, ops.sum(x, axis).shape)


def _logical_xor(a: Tensor, b: Tensor) -> Tensor:
    return ops.not_equal(ops.astype(a, "bool"), ops.astype(b, "bool"))


def _band(input: Tensor, num_lower: Tensor, num_upper: Tensor) -> Tensor:
    rows, cols = input.shape[-2:]
    below = np.arange(rows)[:, None] - np.arange(cols)
    places = tensor(below.astype(np.int32))
    lower = ops.logical_or(places <= num_lower, num_lower < 0)
    upper = ops.logical_or(-places <= num_upper, num_upper < 0)
    return ops.where(ops.logical_and(lower, upper), input, ops.zeros_like(input))


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
    shifts = [shift] if isinstance(shift, int) else list(shift)
    axes = [axis] if isinstance(axis, int) else list(axis)
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
        before = ops.logical_or(before, last if side == "right" else ops.logical_and(last, ops.logical_not(other)))
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


def _segment_sum(x: Tensor, segment_ids: Tensor, *, num_segments: int) -> Tensor:
    """Add rows into zeros, with one more for those of no segment."""
    outside = ops.logical_or(segment_ids < 0, segment_ids >= num_segments)
    rows = ops.reshape(ops.where(outside, num_segments, segment_ids), (-1, 1))
    inner = x.shape[segment_ids.ndim :]
    updates = ops.reshape(x, (segment_ids.size, *inner))
    found = run("ScatterNd", rows, updates, shape=(num_segments + 1, *inner))
    return found[:num_segments]


def _squared_difference(a: Tensor, b: Tensor) -> Tensor:
    apart = a - b
    return apart * apart


def _step(x: Tensor, *, alpha: float) -> Tensor:
    (x,) = _floats(x)
    return ops.where(ops.isnan(x), x, ops.where(x > 0.0, 1.0, alpha))


def _variance(x: Tensor, *, axis: Any, correction: float, keep_dims: bool) -> Tensor:
    if not x.size:
        raise CannotSayError("of no elements")
    (x,) = _floats(x)
    apart = x - ops.mean(x, axis, keepdims=True)
    squares = ops.square(apart)
    if not correction:
        return ops.mean(squares, axis, keepdims=keep_dims)
    total = ops.sum(squares, axis, keepdims=keep_dims)
    return total / max(x.size // max(total.size, 1) - correction, 0.0)


COMPOSITIONS: Mapping[str, Composition] = MappingProxyType(
    {
        "AddN": _add_n,
        "Atan2": _atan2,
        "Attention": _attention,
        "BatchToSpaceND": _batch_to_space,
        "Bincount": _bincount,
        "CopySign": _copy_sign,
        "DenseBincount": _dense_bincount,
        "DepthToSpace": _depth_to_space,
        "Diag": _diag,
        "Dilation2D": _dilation,
        "EluGrad": _elu_grad,
        "Expm1": _expm1,
        "FlipLeftRight": _flip_left_right,
        "FloorDiv": _floor_div,
        "FusedBatchNorm": _fused_batch_norm,
        "FusedConv2D": _fused("Conv2D"),
        "FusedDepthwiseConv2D": _fused("DepthwiseConv2dNative"),
        "Hypot": _hypot,
        "IsFinite": _is_finite,
        "LayerNorm": _layer_norm,
        "Log10": _log10,
        "Log1p": _log1p,
        "Log2": _log2,
        "LogAddExp": _log_add_exp,
        "LogSumExp": _log_sum_exp,
        "LogicalXor": _logical_xor,
        "LowerBound": _bound("left"),
        "MatrixBandPart": _band,
        "MaxPoolGrad": _max_pool_grad,
        "Pool": _pool,
        "ResizeBilinearGrad": _resize_grad("ResizeBilinear"),
        "ResizeNearestNeighborGrad": _resize_grad("ResizeNearestNeighbor"),
        "Roll": _roll,
        "SearchSorted": _search,
        "Sort": _sort,
        "SpaceToBatchND": _space_to_batch,
        "SquaredDifference": _squared_difference,
        "Step": _step,
        "TakeAlongAxis": _take_along_axis,
        "UnsortedSegmentSum": _segment_sum,
        "UpperBound": _bound("right"),
        "Variance": _variance,
        "_FusedMatMul": _fused("BatchMatMul"),
    }
)
"""By the kernel's name."""
