"""Pooling: maxima with their places, means and norms of windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import check_table
from wgsl_kernels.onnx.types import carried
from wgsl_kernels.onnx.windows import OnnxWindow, padding, spatial_axes, window_counts
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode

    Pads = Sequence[tuple[int, int]]


def _pooled(kind: str, x: Tensor, window: OnnxWindow, pads: Pads) -> Tensor:
    """Return the maxima or means of windows of [batch, channels, ...]."""
    axes = spatial_axes("pooling", x)
    size, strides, dilations = window.size, window.strides, window.dilations
    if axes == 1:
        x, pads = ops.expand_dims(x, 2), [(0, 0), *pads]
        size, strides, dilations = (1, *size), (1, *strides), (1, *dilations)
    pool = {
        ("max", False): ops.max_pool,
        ("max", True): ops.max_pool3d,
        ("mean", False): ops.avg_pool,
        ("mean", True): ops.avg_pool3d,
    }[kind, axes == 3]
    found = pool(
        x,
        size,
        strides=strides,
        dilations=dilations,
        pad=((0, 0), (0, 0), *pads),
        data_format="NCDHW" if axes == 3 else "NCHW",
    )
    return ops.squeeze(found, 2) if axes == 1 else found


@operator("MaxPool")
def max_pool(node: OnnxNode, x: Tensor) -> Any:
    """Return the largest of each window and, where asked for, its place in the whole tensor."""
    window = OnnxWindow.of(node)
    pads = padding(window, x.shape[2:])
    if node.wanted > 1:
        return _with_places(node, x, window, pads)
    return _pooled(
        "max", ops.astype(x, "float32") if x.dtype in ("int8", "uint8") else x, window, pads
    )


def _with_places(
    node: OnnxNode, x: Tensor, window: OnnxWindow, pads: Pads
) -> tuple[Tensor, Tensor]:
    """Return maxima and places: the windows laid out along an axis, then their first largest."""
    lengths = x.shape[2:]
    places = _window_places(window, lengths, pads)  # [windows, elements], -1 outside
    outs = window_counts(window, lengths, pads)
    rows = ops.reshape(x, (*x.shape[:2], math.prod(lengths)))
    inside = carried(np.maximum(places, 0).reshape(-1))
    values = ops.reshape(ops.take(rows, inside, 2), (*x.shape[:2], *places.shape))
    floats = ops.astype(values, "float32") if values.dtype in ("int8", "uint8") else values
    outside = ops.tensor(places < 0)
    floats = ops.where(outside, ops.full_like(floats, -math.inf), floats)
    best = ops.argmax(floats, -1)
    local = ops.take(
        ops.tensor(_numbered(places, lengths, node).astype(np.int32).reshape(-1)),
        best + ops.arange(places.shape[0], dtype="int32") * places.shape[1],
    )
    first = ops.arange(math.prod(x.shape[:2]), dtype="int32") * math.prod(lengths)
    found = local + ops.reshape(first, (*x.shape[:2], 1))
    shape = (*x.shape[:2], *outs)
    return ops.reshape(ops.max(floats, -1), shape), ops.reshape(found, shape)


def _window_places(window: OnnxWindow, lengths: Sequence[int], pads: Pads) -> Array:
    """Return for each window the places of its elements in one image, -1 of those outside."""
    counts = window_counts(window, lengths, pads)
    check_table(*(max(count, 0) for count in counts), *window.size)
    found, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    for i, count in enumerate(counts):
        at = (
            np.arange(count)[:, None] * window.strides[i]
            - pads[i][0]
            + np.arange(window.size[i])[None, :] * window.dilations[i]
        )
        ok = (at >= 0) & (at < lengths[i])
        shape = (found.shape[0] * count, found.shape[1] * window.size[i])
        found = (
            found[:, None, :, None] * lengths[i] + np.clip(at, 0, lengths[i] - 1)[None, :, None, :]
        ).reshape(shape)
        inside = (inside[:, None, :, None] & ok[None, :, None, :]).reshape(shape)
    return np.where(inside, found, -1)


def _numbered(places: Array, lengths: Sequence[int], node: OnnxNode) -> Array:
    """Return places counted by columns where ``storage_order`` asks for it."""
    if not node.attr("storage_order", 0):
        return places
    at = np.unravel_index(np.maximum(places, 0), tuple(lengths))
    return np.ravel_multi_index(at[::-1], tuple(lengths)[::-1])


@operator("AveragePool")
def average_pool(node: OnnxNode, x: Tensor) -> Tensor:
    """Return the mean of each window, the padding counted where asked for."""
    window = OnnxWindow.of(node)
    pads = padding(window, x.shape[2:])
    if node.attr("count_include_pad", 0) and any(a or b for a, b in pads):
        count = len(pads)
        own = list(zip(window.pads[:count], window.pads[count:], strict=True))
        own = pads if window.auto.startswith("SAME") else own
        x = ops.pad(x, [(0, 0), (0, 0), *own])
        pads = [(0, max(0, b - d)) for (_, b), (_, d) in zip(pads, own, strict=True)]
    return _pooled("mean", x, window, pads)


@operator("LpPool")
def norm_pool(node: OnnxNode, x: Tensor) -> Tensor:
    """Return the norm of order ``p`` of each window."""
    window, order = OnnxWindow.of(node), float(node.attr("p"))
    powers = ops.pow(ops.abs(ops.pad(x, [(0, 0), (0, 0), *padding(window, x.shape[2:])])), order)
    means = _pooled("mean", powers, window, [(0, 0)] * len(window.size))
    return ops.pow(means * float(math.prod(window.size)), 1 / order)


def _spatial(x: Tensor) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


operator("GlobalAveragePool")(lambda node, x: ops.mean(x, _spatial(x), keepdims=True))
operator("GlobalMaxPool")(lambda node, x: ops.max(x, _spatial(x), keepdims=True))


@operator("GlobalLpPool")
def global_norm(node: OnnxNode, x: Tensor) -> Tensor:
    """Return the norm of order ``p`` of each channel."""
    order = float(node.attr("p"))
    return ops.pow(ops.sum(ops.pow(ops.abs(x), order), _spatial(x), keepdims=True), 1 / order)


@operator("MaxUnpool", host=(2,))
def max_unpool(node: OnnxNode, x: Tensor, places: Tensor, shape: Array | None = None) -> Tensor:
    """Return zeros with the maxima of windows at the places that they were taken from."""
    window = OnnxWindow.of(node)
    count = len(window.size)
    base = [
        (n - 1) * s + k - a - b
        for n, s, k, a, b in zip(
            x.shape[2:], window.strides, window.size, window.pads[:count], window.pads[count:],
            strict=True,
        )
    ]  # fmt: skip
    whole = (*x.shape[:2], *base)
    flat = ops.scatter_nd(ops.reshape(places, (-1, 1)), ops.reshape(x, (-1,)), (math.prod(whole),))
    found = ops.reshape(flat, whole)
    if shape is None or tuple(shape) == whole:
        return found
    return ops.pad(found, [(0, int(n) - there) for n, there in zip(shape, whole, strict=True)])
