"""Samples of images at computed places: grids, regions of interest, deformed windows, columns."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import check_table, ints
from wgsl_kernels.onnx.types import carried
from wgsl_kernels.onnx.windows import OnnxWindow, window_counts
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


def _at(flat: Tensor, lengths: Sequence[int], places: Sequence[Tensor]) -> Tensor:
    """Return [rows, channels, points] of [rows, channels, elements] at whole places.

    Args:
        flat: Images with their spatial axes made one.
        lengths: Of the spatial axes.
        places: For each of them float places, [rows, points]; outside there are zeros.
    """
    inside = ops.ones(places[0].shape, "bool")
    index = ops.zeros(places[0].shape, "int32")
    for length, place in zip(lengths, places, strict=True):
        inside = ops.logical_and(inside, ops.logical_and(place >= 0, place <= length - 1))
        index = index * length + ops.astype(ops.clip(place, 0.0, length - 1.0), "int32")
    shape = (flat.shape[0], flat.shape[1], index.shape[1])
    taken = ops.take_along_axis(flat, ops.broadcast_to(ops.expand_dims(index, 1), shape), -1)
    return ops.where(ops.expand_dims(inside, 1), taken, ops.zeros_like(taken))


def _linear(flat: Tensor, lengths: Sequence[int], places: Sequence[Tensor]) -> Tensor:
    """Return images at places between elements, linearly along each axis."""
    sides = []
    for place in places:
        low = ops.floor(place)
        sides.append(((low, low + 1.0 - place), (low + 1.0, place - low)))

    def term(corner: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        at, weights = zip(*reversed(corner), strict=True)
        weight = functools.reduce(ops.multiply, weights)
        return _at(flat, lengths, at) * ops.expand_dims(weight, 1)

    return functools.reduce(ops.add, map(term, itertools.product(*reversed(sides))))


@operator("GridSample")
def grid_sample(node: OnnxNode, x: Tensor, grid: Tensor) -> Tensor:
    """Return images, [batch, channels, ...], sampled at places from -1 to 1, x first."""
    lengths, mode, corners = x.shape[2:], node.attr("mode"), bool(node.attr("align_corners"))
    batch, axes = x.shape[0], x.ndim - 2
    rows = ops.reshape(grid, (batch, math.prod(grid.shape[1:-1]), axes))
    flat = ops.reshape(x, (batch, x.shape[1], math.prod(lengths)))
    raw = [_unscaled(rows[..., axes - 1 - i], n, corners) for i, n in enumerate(lengths)]

    def folded(places: Sequence[Tensor]) -> list[Tensor]:
        return [_folded(node, one, n, corners) for one, n in zip(places, lengths, strict=True)]

    if mode == "nearest":
        found = _at(flat, lengths, folded([ops.round(one) for one in folded(raw)]))
    elif mode in ("linear", "bilinear"):
        found = _linear(flat, lengths, folded(raw))
    else:
        found = _cubic(flat, lengths, raw, folded)
    return ops.reshape(found, (batch, x.shape[1], *grid.shape[1:-1]))


def _unscaled(place: Tensor, length: int, corners: bool) -> Tensor:
    return (place + 1.0) * ((length - 1) / 2) if corners else ((place + 1.0) * length - 1.0) / 2


def _folded(node: OnnxNode, place: Tensor, length: int, corners: bool) -> Tensor:
    """Return places brought inside, as the padding asks."""
    mode = node.attr("padding_mode")
    if mode == "border":
        return ops.clip(place, 0.0, length - 1.0)
    if mode != "reflection":
        return place
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    span = high - low
    if span == 0:
        return ops.zeros_like(place)
    turned = ops.remainder(ops.abs(place - low), 2 * span)
    return ops.clip(low + ops.minimum(turned, 2 * span - turned), 0.0, length - 1.0)


def _cubic(flat: Tensor, lengths: Sequence[int], places: Sequence[Tensor], folded: Any) -> Tensor:
    """Return images sampled by cubics along each of two axes, with a = -0.75."""
    lows = [ops.floor(place) for place in places]
    weights = [
        [_cubic_weight(ops.abs(place - low - float(step))) for step in range(-1, 3)]
        for place, low in zip(places, lows, strict=True)
    ]

    def term(place: tuple[int, ...]) -> Tensor:
        at = folded([low + (step - 1.0) for low, step in zip(lows, place, strict=True)])
        weight = weights[0][place[0]] * weights[1][place[1]]
        return _at(flat, lengths, at) * ops.expand_dims(weight, 1)

    return functools.reduce(ops.add, map(term, itertools.product(range(4), repeat=2)))


def _cubic_weight(distance: Tensor) -> Tensor:
    a = -0.75
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return ops.where(distance <= 1.0, near, far)


@operator("AffineGrid", host=(1,))
def affine_grid(node: OnnxNode, theta: Tensor, size: Array) -> Tensor:
    """Return the places that affine maps, [batch, axes, axes + 1], give an image's elements."""
    lengths = ints(size)[2:]
    check_table(*lengths, len(lengths) + 1)
    corners = node.attr("align_corners")
    lines = [np.linspace(-1, 1, n) if corners else (np.arange(n) * 2 + 1) / n - 1 for n in lengths]
    if corners:
        lines = [line if n > 1 else np.zeros(1) for line, n in zip(lines, lengths, strict=True)]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*mesh, np.ones(lengths)], -1).reshape(-1, len(lengths) + 1)
    kind = str(theta.dtype)
    base = ops.tensor(points.astype(np.float64 if kind == "float64" else np.float32))
    found = ops.matmul(base, ops.permute_dims(theta, (0, 2, 1)))
    return ops.reshape(found, (theta.shape[0], *lengths, len(lengths)))


@operator("RoiAlign", reads=True)
def roi_align(node: OnnxNode, x: Tensor, regions: Tensor, images: Tensor) -> Tensor:
    """Return the mean or largest of samples in each bin of each region, [regions, channels, ...].

    How many samples a bin has is read, where the node does not say it.

    Source: He et al., Mask R-CNN, ICCV 2017.
    """
    high, wide = node.attr("output_height"), node.attr("output_width")
    mode = node.attr("coordinate_transformation_mode", "output_half_pixel")
    shift = 0.5 if mode == "half_pixel" else 0.0
    corners = np.asarray(regions.numpy()) * node.attr("spatial_scale") - shift
    chosen = ops.take(ops.reshape(x, (*x.shape[:2], math.prod(x.shape[2:]))), images, 0)
    if not len(corners):
        return ops.zeros((0, x.shape[1], high, wide), x.dtype)
    found = []
    for i, (left, top, right, bottom) in enumerate(corners.astype(float)):
        least = 0.0 if mode == "half_pixel" else 1.0
        size = (max(bottom - top, least) / high, max(right - left, least) / wide)
        counts = [node.attr("sampling_ratio") or math.ceil(one) for one in size]
        check_table(high * counts[0], wide * counts[1])
        lines = [
            start + bin_ * (np.arange(n)[:, None] + (np.arange(count) + 0.5)[None, :] / count)
            for start, bin_, n, count in zip((top, left), size, (high, wide), counts, strict=True)
        ]
        samples = _bilinear_inside(
            chosen[i : i + 1], x.shape[2:], lines[0].ravel(), lines[1].ravel()
        )
        grid = (
            ops.reshape(samples, (x.shape[1], high, counts[0], wide, counts[1]))
            if node.attr("mode") == "avg"
            else None
        )
        if grid is not None:
            found.append(ops.mean(grid, (2, 4)))
        else:
            found.append(
                _largest_corner(chosen[i : i + 1], x.shape[2:], lines, (high, wide), counts)
            )
    return ops.stack(found, 0)


def _corner_weights(line: Array, length: int) -> list[tuple[Array, Array]]:
    """Return the lower and upper place along an axis with their weights; outside they are 0."""
    outside = (line < -1) | (line > length)
    place = np.clip(line, 0, None)
    low = np.minimum(np.floor(place), length - 1)
    place = np.where(low >= length - 1, length - 1.0, place)
    high = np.minimum(low + 1, length - 1)
    upper = place - low
    return [
        (low.astype(np.int64), np.where(outside, 0, 1 - upper)),
        (high.astype(np.int64), np.where(outside, 0, upper)),
    ]


def _corner_terms(
    flat: Tensor, lengths: Sequence[int], rows: Array, columns: Array
) -> list[Tensor]:
    """Return the four weighted neighbours, [channels, rows, columns], of each point of a mesh."""
    found = []
    for row, row_weight in _corner_weights(rows, lengths[0]):
        for column, column_weight in _corner_weights(columns, lengths[1]):
            index = carried((row[:, None] * lengths[1] + column[None, :]).reshape(-1))
            weight = (row_weight[:, None] * column_weight[None, :]).astype(np.float32)
            values = ops.reshape(ops.take(flat[0], index, 1), (flat.shape[1], *weight.shape))
            found.append(values * ops.astype(ops.tensor(weight), flat.dtype))
    return found


def _bilinear_inside(flat: Tensor, lengths: Sequence[int], rows: Array, columns: Array) -> Tensor:
    first, second, third, fourth = _corner_terms(flat, lengths, rows, columns)
    return first + second + third + fourth


def _largest_corner(
    flat: Tensor,
    lengths: Sequence[int],
    lines: Sequence[Array],
    bins: tuple[int, int],
    counts: Sequence[int],
) -> Tensor:
    """Return the largest weighted neighbour of the samples of each bin."""
    terms = ops.stack(_corner_terms(flat, lengths, lines[0].ravel(), lines[1].ravel()), 0)
    grid = ops.reshape(terms, (4, terms.shape[1], bins[0], counts[0], bins[1], counts[1]))
    return ops.max(grid, (0, 3, 5))


@operator("Col2Im", host=(1, 2))
def columns_to_image(node: OnnxNode, x: Tensor, shape: Array, block: Array) -> Tensor:
    """Return images whose blocks are columns, [batch, channels * block, blocks]; overlaps add."""
    size = ints(block)
    lengths = ints(shape)
    window = OnnxWindow.of(node, size)
    count = len(size)
    pads = list(zip(window.pads[:count], window.pads[count:], strict=True))
    padded = [n + before + behind for n, (before, behind) in zip(lengths, pads, strict=True)]
    counts = window_counts(window, lengths, pads)
    check_table(*size, *(max(steps, 0) for steps in counts))
    places = np.zeros((1, 1), np.int64)
    for i, (n, steps) in enumerate(zip(padded, counts, strict=True)):
        at = (
            np.arange(size[i])[:, None] * window.dilations[i]
            + np.arange(steps)[None, :] * window.strides[i]
        )
        places = (places[:, None, :, None] * n + at[None, :, None, :]).reshape(
            places.shape[0] * size[i], places.shape[1] * steps
        )
    batch, channels = x.shape[0], x.shape[1] // math.prod(size)
    values = ops.reshape(x, (batch * channels, math.prod(size) * x.shape[2]))
    flat = ops.zeros((math.prod(padded), batch * channels), x.dtype)
    whole = flat.at[carried(places.reshape(-1))].add(ops.matrix_transpose(values))
    image = ops.reshape(ops.matrix_transpose(whole), (batch, channels, *padded))
    return image[
        (
            slice(None),
            slice(None),
            *(slice(window.pads[i], window.pads[i] + n) for i, n in enumerate(lengths)),
        )
    ]


@operator("DeformConv")
def deformed_convolution(
    node: OnnxNode,
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return a convolution whose windows take their elements at shifted places.

    Source: Dai et al., Deformable Convolutional Networks, ICCV 2017.
    """
    window = OnnxWindow.of(node, tuple(weight.shape[2:]))
    (batch, channels), (high, wide) = x.shape[:2], x.shape[2:]
    outs, groups, parts = offset.shape[2:], node.attr("group"), node.attr("offset_group")
    taps = math.prod(window.size)
    shifts = ops.reshape(offset, (batch * parts, taps, 2, *outs))
    lines = [
        np.arange(outs[i])[None, :] * window.strides[i]
        - window.pads[i]
        + np.arange(window.size[i])[:, None] * window.dilations[i]
        for i in range(2)
    ]
    rows = np.broadcast_to(lines[0][:, None, :, None], (*window.size, *outs)).reshape(taps, *outs)
    columns = np.broadcast_to(lines[1][None, :, None, :], (*window.size, *outs)).reshape(
        taps, *outs
    )
    count = taps * math.prod(outs)
    points = [
        ops.reshape(shifts[:, :, i] + ops.tensor(base.astype(np.float32)), (batch * parts, count))
        for i, base in enumerate((rows, columns))
    ]
    flat = ops.reshape(x, (batch * parts, channels // parts, high * wide))
    samples = ops.reshape(
        _linear(flat, (high, wide), points), (batch, parts, channels // parts, taps, *outs)
    )
    if mask is not None:
        samples = samples * ops.reshape(mask, (batch, parts, 1, taps, *outs))
    columns_ = ops.reshape(samples, (batch, groups, channels // groups * taps, math.prod(outs)))
    filters = ops.reshape(weight, (groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))
    found = ops.reshape(ops.matmul(filters, columns_), (batch, weight.shape[0], *outs))
    return found if bias is None else found + ops.reshape(bias, (1, -1, 1, 1))
