"""Normalization: of batches, layers, groups, instances, vectors and neighbouring channels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode


def _per_channel(values: Tensor, x: Tensor) -> Tensor:
    return ops.reshape(values, (1, -1, *(1,) * (x.ndim - 2)))


@operator("BatchNormalization")
def batch_normalization(
    node: OnnxNode, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> Any:
    """Return ``x`` normalised per channel; in training by its own moments, which are returned."""
    trains = node.attr("training_mode", 0) if node.version >= 14 else node.wanted > 1
    if not trains:
        return ops.batch_norm(
            x,
            *(_per_channel(one, x) for one in (mean, variance, offset, scale)),
            variance_epsilon=node.attr("epsilon"),
        )
    keep = node.attr("momentum")
    axes = (0, *range(2, x.ndim))
    batch_mean, batch_variance = ops.moments(x, axes, keepdims=True)
    found = (
        (x - batch_mean) * ops.rsqrt(batch_variance + node.attr("epsilon")) * _per_channel(scale, x)
    )
    averages = (
        old * keep + ops.reshape(new, (-1,)) * (1 - keep)
        for old, new in ((mean, batch_mean), (variance, batch_variance))
    )
    return (found + _per_channel(offset, x), *averages)


@operator("InstanceNormalization")
def instance_normalization(node: OnnxNode, x: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    """Return each channel of each image normalised by its own moments."""
    mean, variance = ops.moments(x, tuple(range(2, x.ndim)), keepdims=True)
    return ops.batch_norm(
        x,
        mean,
        variance,
        *(_per_channel(one, x) for one in (offset, scale)),
        variance_epsilon=node.attr("epsilon"),
    )


@operator("GroupNormalization")
def group_normalization(node: OnnxNode, x: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    """Return groups of channels normalised; before version 21 scales were per group."""
    groups, channels = node.attr("num_groups"), x.shape[1]
    apart = (x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    rows = ops.layer_norm(ops.reshape(x, apart), epsilon=node.attr("epsilon"))
    if node.version < 21 and channels != groups:
        scale, offset = (ops.repeat(one, channels // groups) for one in (scale, offset))
    return ops.reshape(rows, x.shape) * _per_channel(scale, x) + _per_channel(offset, x)


@operator("LayerNormalization")
def layer_normalization(
    node: OnnxNode, x: Tensor, scale: Tensor, offset: Tensor | None = None
) -> Any:
    """Return ``x`` normalised over its last axes, with mean and 1 / deviation where asked for."""
    axis, epsilon = node.attr("axis") % x.ndim, node.attr("epsilon")
    if node.wanted == 1 and axis == x.ndim - 1 and scale.ndim == 1:
        return ops.layer_norm(x, scale, offset, epsilon=epsilon)
    mean, variance = ops.moments(x, tuple(range(axis, x.ndim)), keepdims=True)
    inverse = ops.rsqrt(variance + epsilon)
    found = (x - mean) * inverse * scale
    return (found if offset is None else found + offset, mean, inverse)[: node.wanted]


@operator("RMSNormalization")
def rms_normalization(node: OnnxNode, x: Tensor, scale: Tensor) -> Tensor:
    """Return ``x`` divided by the root of the mean of its squares over the last axes."""
    axes = tuple(range(node.attr("axis") % x.ndim, x.ndim))
    return (
        x * ops.rsqrt(ops.mean(ops.square(x), axes, keepdims=True) + node.attr("epsilon")) * scale
    )


@operator("LpNormalization")
def norm_normalization(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` divided by its norm of order 1 or 2 along an axis; 0 stays 0."""
    axis = node.attr("axis")
    if node.attr("p") == 1:
        return ops.div_no_nan(x, ops.sum(ops.abs(x), axis, keepdims=True))
    return ops.div_no_nan(x, ops.sqrt(ops.sum(ops.square(x), axis, keepdims=True)))


@operator("LRN")
def local_response(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` divided by a power of the squares of neighbouring channels."""
    size = node.attr("size")
    before = (size - 1) // 2
    padded = ops.pad(
        ops.square(x), [(0, 0), (before, size - 1 - before), *((0, 0),) * (x.ndim - 2)]
    )
    channels = x.shape[1]
    total = padded[:, :channels]
    for i in range(1, size):
        total = total + padded[:, i : i + channels]
    return x * ops.pow(node.attr("bias") + node.attr("alpha") / size * total, -node.attr("beta"))


@operator("MeanVarianceNormalization")
def mean_variance(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` less its mean, divided by its deviation, over some axes."""
    mean, variance = ops.moments(x, tuple(node.attr("axes", (0, 2, 3))), keepdims=True)
    return (x - mean) / (ops.sqrt(variance) + 1e-9)
