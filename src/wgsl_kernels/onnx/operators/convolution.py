"""Convolutions and transposed convolutions: of any number of axes, in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.windows import OnnxWindow, padding, spatial_axes
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("Conv")
def convolution(node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the convolution of [batch, channels, ...] with [out, channels / group, ...]."""
    return convolved(node, x, weight, bias)


def convolved(node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return a convolution with the window that a node's attributes describe.

    Raises:
        ShapeError: There are no spatial axes, or more than three.
    """
    axes, groups = spatial_axes(node.op, x), node.attr("group", 1)
    if node.attr("filters_last"):  # set on load
        filters, size = weight, tuple(weight.shape[:-2])
    else:
        filters = ops.permute_dims(weight, (*range(2, weight.ndim), 1, 0))
        size = tuple(weight.shape[2:])
    window = OnnxWindow.of(node, size)
    pads = padding(window, x.shape[2:])
    strides, dilations = window.strides, window.dilations
    if axes == 1:  # an image of height 1
        x, filters = ops.expand_dims(x, 2), ops.expand_dims(filters, 0)
        strides, dilations, pads = (1, *strides), (1, *dilations), [(0, 0), *pads]
    geometry: dict[str, Any] = {
        "strides": strides,
        "pad": ((0, 0), (0, 0), *pads),
        "data_format": "NCDHW" if axes == 3 else "NCHW",
        "dilations": dilations,
    }
    activation = node.attr("activation", "linear")  # set on load
    if axes < 3 and groups == 1 and bias is not None:
        found = ops.fused_conv2d(x, filters, bias=bias, activation=activation, **geometry)
    else:
        found = (ops.conv3d if axes == 3 else ops.conv2d)(x, filters, groups=groups, **geometry)
        if bias is not None:
            wide = bias.ndim > 1  # laid out on load
            found = found + (bias if wide else ops.reshape(bias, (-1, *(1,) * (found.ndim - 2))))
        found = ops.relu(found) if activation == "relu" else found
    return ops.squeeze(found, 2) if axes == 1 else found


@operator("ConvTranspose")
def transposed_convolution(
    node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Return what has ``x`` for its convolution's gradient: [channels, out / group, ...] filters.

    The whole result is computed, then what ``pads`` or ``output_shape`` leave out is cut off.
    """
    axes, groups = spatial_axes(node.op, x), node.attr("group", 1)
    window = OnnxWindow.of(node, tuple(weight.shape[2:]))
    spans = [(k - 1) * d + 1 for k, d in zip(window.size, window.dilations, strict=True)]
    whole = [
        s * (n - 1) + span for s, n, span in zip(window.strides, x.shape[2:], spans, strict=True)
    ]
    found = _transposed(x, weight, window, whole, groups)
    begin, lengths = _kept(node, window, x.shape[2:], whole)
    more = [
        max(0, first + length - there)
        for first, length, there in zip(begin, lengths, whole, strict=True)
    ]
    if any(more):
        found = ops.pad(found, [(0, 0), (0, 0), *((0, n) for n in more)])
    parts = tuple(slice(a, a + n) for a, n in zip(begin, lengths, strict=True))
    found = found[(slice(None), slice(None), *parts)]
    return found if bias is None else found + ops.reshape(bias, (1, -1, *(1,) * axes))


def _transposed(
    x: Tensor, weight: Tensor, window: OnnxWindow, whole: Sequence[int], groups: int
) -> Tensor:
    axes = x.ndim - 2
    strides, dilations, out = window.strides, window.dilations, tuple(whole)
    filters = ops.permute_dims(weight, (*range(2, weight.ndim), 1, 0))  # [..., out / group, in]
    if axes == 1:
        x, filters = ops.expand_dims(x, 2), ops.expand_dims(filters, 0)
        strides, dilations, out = (1, *strides), (1, *dilations), (1, *out)
    found = (ops.conv3d_transpose if axes == 3 else ops.conv2d_transpose)(
        x,
        filters,
        (x.shape[0], weight.shape[1] * groups, *out),
        strides=strides,
        pad="valid",
        data_format="NCDHW" if axes == 3 else "NCHW",
        dilations=dilations,
        groups=groups,
    )
    return ops.squeeze(found, 2) if axes == 1 else found


def _kept(
    node: OnnxNode, window: OnnxWindow, lengths: Sequence[int], whole: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return where the result begins in the whole, and its lengths."""
    extra = node.attr("output_padding") or (0,) * len(whole)
    wanted = node.attr("output_shape")
    if wanted is None and window.auto.startswith("SAME"):
        wanted = [n * s for n, s in zip(lengths, window.strides, strict=True)]
    if wanted is None:
        count = len(whole)
        ends = [n + e for n, e in zip(whole, extra, strict=True)]
        begin = list(window.pads[:count])
        return begin, [n - a - b for n, a, b in zip(ends, begin, window.pads[count:], strict=True)]
    wanted = list(wanted)[-len(whole) :]
    cut = [max(0, n + e - w) for n, e, w in zip(whole, extra, wanted, strict=True)]
    upper = window.auto == "SAME_UPPER"
    return [n // 2 if upper else n - n // 2 for n in cut], wanted
