"""Resize and Upsample: a matrix along each axis, or places along it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import check_table, ints
from wgsl_kernels.onnx.types import CARRIERS, carried
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("Resize", since=11, host=(1, 2, 3))
def resize(
    node: OnnxNode,
    x: Tensor,
    region: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
) -> Tensor:
    """Return ``x`` sampled anew along its axes: by the nearest, linearly, or by cubics.

    Source: the operator's own formulas, github.com/onnx/onnx, docs/Operators.md.
    """
    axes = [axis % x.ndim for axis in node.attr("axes") or range(x.ndim)]
    factors, lengths = _targets(node, [x.shape[axis] for axis in axes], scales, sizes)
    given = None if region is None or region.size == 0 else np.ravel(region).astype(float)
    for i, axis in enumerate(axes):
        part = (0.0, 1.0) if given is None else (given[i], given[i + len(axes)])
        x = _along(node, x, axis, factors[i], lengths[i], part)
    return x


@operator("Upsample", "Resize", host=(1,))
def upsample(node: OnnxNode, x: Tensor, scales: Array | None = None) -> Tensor:
    """Return ``x`` sampled at the places before, or after if made smaller, or linearly."""
    if scales is None:
        scales = np.asarray(node.attr("scales"))
    for axis, factor in enumerate(np.ravel(scales).astype(float)):
        x = _along(node, x, axis, factor, math.floor(x.shape[axis] * factor), (0.0, 1.0))
    return x


def _targets(
    node: OnnxNode, there: Sequence[int], scales: Array | None, sizes: Array | None
) -> tuple[list[float], list[int]]:
    """Return the factor and the new length of each axis."""
    if scales is not None and scales.size:
        factors = [float(one) for one in np.ravel(scales)]
        return factors, [math.floor(n * f) for n, f in zip(there, factors, strict=True)]
    wanted = list(ints(sizes if sizes is not None else ()))
    ratios = [w / n for w, n in zip(wanted, there, strict=True)]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return ratios, wanted
    one = min(ratios) if policy == "not_larger" else max(ratios)
    return [one] * len(there), [math.floor(one * n + 0.5) for n in there]


def _along(
    node: OnnxNode, x: Tensor, axis: int, factor: float, length: int, part: tuple[float, float]
) -> Tensor:
    """Return ``x`` sampled along one axis."""
    there = x.shape[axis]
    mode = node.attr("coordinate_transformation_mode", "asymmetric")
    if factor == 1 and length == there and mode != "tf_crop_and_resize":
        return x
    check_room((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    check_table(length)
    places = _coordinates(mode, there, factor, length, part)
    outside = (places < 0) | (places > there - 1)
    if node.attr("mode") == "nearest":
        older = "floor" if factor >= 1 else "ceil"  # before version 11, as its tests have it
        how = node.attr("nearest_mode", older)
        found = ops.take(x, carried(_nearest(how, places, there)), axis)
    else:
        wide = CARRIERS["double" if x.dtype == "float64" else "float"]
        turned = ops.tensor(_weights(node, places, there, factor), dtype=wide)
        found = ops.moveaxis(ops.tensordot(turned, ops.astype(x, wide), ([1], [axis])), 0, axis)
        found = ops.astype(found, x.dtype)
    if mode == "tf_crop_and_resize" and outside.any():
        lengths = [-1 if i == axis else 1 for i in range(x.ndim)]
        value = ops.full_like(found, node.attr("extrapolation_value"))
        return ops.where(ops.reshape(ops.tensor(outside), lengths), value, found)
    return found


def _coordinates(
    mode: str, there: int, factor: float, length: int, part: tuple[float, float]
) -> Array:
    """Return where each new element is among the old ones."""
    at = np.arange(length, dtype=np.float64)
    whole = factor * there  # the new length before it was cut to a whole number
    if mode == "align_corners":
        return at * (there - 1) / (whole - 1) if whole > 1 else np.zeros(length)
    if mode == "asymmetric":
        return at / factor
    if mode == "tf_crop_and_resize":
        start, end = part
        if whole > 1:
            return start * (there - 1) + at * (end - start) * (there - 1) / (whole - 1)
        return np.full(length, 0.5 * (start + end) * (there - 1))
    if mode == "pytorch_half_pixel" and length == 1:
        return np.full(length, -0.5)
    if mode == "half_pixel_symmetric":
        adjustment = length / whole
        return there / 2 * (1 - adjustment) + (at + 0.5) / factor - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / factor
    return (at + 0.5) / factor - 0.5


def _nearest(mode: str, places: Array, there: int) -> Array:
    half = places == np.floor(places) + 0.5
    found = {
        "floor": np.floor(places),
        "ceil": np.ceil(places),
        "round_prefer_floor": np.where(half, np.floor(places), np.round(places)),
        "round_prefer_ceil": np.where(half, np.ceil(places), np.round(places)),
    }[mode]
    return np.clip(found, 0, there - 1).astype(np.int64)


def _weights(node: OnnxNode, places: Array, there: int, factor: float) -> Array:
    """Return the matrix [new, old] that samples along an axis.

    Source: Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    is_cubic = node.attr("mode") == "cubic"
    scale = min(factor, 1.0) if node.attr("antialias", 0) else 1.0
    reach = math.ceil((2 if is_cubic else 1) / scale)
    check_table(len(places), max(2 * reach, there))
    first = np.floor(places).astype(np.int64)
    taps = first[:, None] + np.arange(1 - reach, reach + 1)[None, :]
    distance = np.abs(taps - places[:, None]) * scale
    kernel = (
        _cubic(distance, node.attr("cubic_coeff_a", -0.75))
        if is_cubic
        else np.maximum(0, 1 - distance)
    )
    if node.attr("exclude_outside", 0) or scale < 1:
        if node.attr("exclude_outside", 0):
            kernel = np.where((taps < 0) | (taps >= there), 0, kernel)
        kernel = kernel / kernel.sum(1, keepdims=True)
    found = np.zeros((len(places), there))
    rows = np.broadcast_to(np.arange(len(places))[:, None], taps.shape)
    np.add.at(found, (rows, np.clip(taps, 0, there - 1)), kernel)
    return found


def _cubic(distance: Any, a: float) -> Any:
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
