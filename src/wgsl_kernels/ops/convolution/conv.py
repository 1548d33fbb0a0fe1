"""Convolution of images, and its transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.shapes import lengths
from wgsl_kernels.ops.convolution.conv_kernels import declare_kernels
from wgsl_kernels.ops.convolution.convolutions import (
    Convolution,
    GroupedAttrs,
    declare_convolution,
)
from wgsl_kernels.ops.convolution.windows import convolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

CONVOLUTION = Convolution(
    "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", convolved, attrs=GroupedAttrs
)

declare_convolution(CONVOLUTION)
conv2d_cpu = declare_kernels(CONVOLUTION)


@public(tfjs="conv2d")
def conv2d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return images convolved with a filter (correlated: the filter is not turned over).

    Args:
        x: [batch, height, width, channels], or one image without the batch. With ``"NCHW"`` the
            channels come before the height.
        filter: [filter height, filter width, channels, out channels], in either format.
        strides: Elements between two places of the filter: one number, or one per axis.
        pad: ``"valid"``: none; ``"same"``: so much that there is a place per stride of the image;
            a number: on all four sides; or (before, after) for each of the four axes.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Elements from one that the filter reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.
        groups: Parts of the channels that are convolved apart, side by side: the filter then has
            channels / groups.

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, or the filter is larger than the padded image.
        ArgumentError: An option is none of these.

    Example:
        >>> wk.conv2d(wk.ones((1, 4, 4, 3)), wk.ones((3, 3, 3, 8)), pad="same").shape
        (1, 4, 4, 8)
    """
    images, weights = as_floats(x), as_floats(filter)
    geometry: dict[str, Any] = {
        "strides": strides,
        "pad": pad,
        "data_format": data_format,
        "dilations": dilations,
        "dim_rounding_mode": dim_rounding_mode,
    }
    if _is_by_channel(images, weights, data_format, groups):
        shape = (*weights.shape[:2], groups, weights.shape[-1] // groups)
        return on_batch(
            "DepthwiseConv2dNative", images, run("Reshape", weights, shape=shape), **geometry
        )
    return on_batch("Conv2D", images, weights, **geometry, groups=groups)


def _is_by_channel(x: Tensor, filter: Tensor, data_format: str, groups: Any) -> bool:
    """Say whether each group is one channel, for which there is a kernel of its own."""
    if not isinstance(groups, (int, np.integer)) or groups == 1:
        return False
    if filter.ndim != 4 or x.ndim not in (3, 4) or filter.shape[2] != 1:
        return False
    channels = x.shape[-1 if data_format == "NHWC" else -3]
    return bool(groups == channels and filter.shape[-1] % channels == 0)


def on_batch(kernel: str, x: Tensor, *others: Any, axes: int = 2, **attrs: Any) -> Tensor:
    """Run a kernel on images, or on one that has no batch axis.

    Args:
        kernel: Its name.
        x: Images.
        *others: Its further inputs.
        axes: The number of spatial axes.
        **attrs: Its attributes.
    """
    if x.ndim != axes + 1:
        return run(kernel, x, *others, **attrs)
    y = run(kernel, run("Reshape", x, shape=(1, *x.shape)), *others, **attrs)
    return run("Reshape", y, shape=y.shape[1:])


@public(tfjs="conv2dTranspose")
def conv2d_transpose(
    x: TensorLike,
    filter: TensorLike,
    output_shape: Sequence[int],
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return the transpose of `conv2d`: each element of ``x`` spreads a filter over the result.

    Args:
        x: [batch, height, width, channels], or one image without the batch.
        filter: [filter height, filter width, out channels, channels].
        output_shape: The result's shape: one that `conv2d` takes to the shape of ``x``.
        strides: Elements of the result between two elements of ``x``.
        pad: As `conv2d` takes it; what falls into the padding is dropped.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Elements from one that the filter writes to the next.
        dim_rounding_mode: As `conv2d` takes it.
        groups: Likewise; the filter then has out channels / groups.

    Raises:
        ShapeError: `conv2d` does not take ``output_shape`` to the shape of ``x``.
        ArgumentError: An option is none that `conv2d` takes.

    Example:
        >>> x, filter = wk.ones((1, 2, 2, 8)), wk.ones((2, 2, 3, 8))
        >>> wk.conv2d_transpose(x, filter, (1, 4, 4, 3), strides=2).shape
        (1, 4, 4, 3)
    """
    images = as_floats(x)
    shape = lengths("Conv2DBackpropInput", "output_shape", output_shape)
    return on_batch(
        "Conv2DBackpropInput",
        images,
        filter,
        input_shape=(1, *shape) if images.ndim == 3 else shape,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        groups=groups,
    )
