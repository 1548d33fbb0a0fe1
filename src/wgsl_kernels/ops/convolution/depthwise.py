"""Convolution of each channel of images on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import wide
from wgsl_kernels.backends.cpu.windows.depthwise import by_channel, spread_out
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.convolution.conv import conv2d, on_batch
from wgsl_kernels.ops.convolution.convolutions import Convolution, declare_convolution
from wgsl_kernels.ops.convolution.depthwise_gradients import TO_FILTER, TO_INPUT
from wgsl_kernels.ops.convolution.depthwise_launch import convolve
from wgsl_kernels.ops.convolution.windows import (
    channels_last,
    convolved_by_channel,
    in_format,
    sliding_of,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

BY_CHANNEL = Convolution("DepthwiseConv2dNative", TO_INPUT, TO_FILTER, convolved_by_channel)

declare_convolution(BY_CHANNEL)


@public(tfjs="depthwiseConv2d")
def depthwise_conv2d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """Return images of which each channel is convolved with filters of its own.

    Args:
        x: [batch, height, width, channels], or one image without the batch. With ``"NCHW"`` the
            channels come before the height.
        filter: [filter height, filter width, channels, multiplier], in either format: as many
            filters for each channel as the multiplier says.
        strides: Elements between two places of the filter: one number, or one per axis.
        pad: ``"valid"``, ``"same"``, a number, or (before, after) for each of the four axes, as
            `conv2d` takes it.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Elements from one that the filter reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.

    Returns:
        The format of ``x``, with channels x multiplier: first those that come from channel 0.

    Raises:
        ShapeError: The channels differ, or the filter is larger than the padded image.
        ArgumentError: An option is none of these.

    Example:
        >>> image = [[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]
        >>> depthwise_conv2d(image, [[[[1.0], [2.0]], [[1.0], [0.0]]]]).tolist()
        [[[3.0, 20.0], [5.0, 40.0]]]
    """
    return on_batch(
        "DepthwiseConv2dNative",
        as_floats(x),
        filter,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
    )


@cpu_kernel("DepthwiseConv2dNative")
def depthwise_conv2d_cpu(x: Array, filter: Array, **geometry: Any) -> Array:
    """Convolve channel by channel, with as many copies of each as the multiplier says."""
    sliding = sliding_of("DepthwiseConv2dNative", x.shape, filter.shape, **geometry)
    images = spread_out(wide(channels_last(x, sliding.data_format)), filter.shape[3])
    y = by_channel(sliding, images, wide(filter).reshape(*filter.shape[:2], images.shape[3]))
    return in_format(y.astype(x.dtype, copy=False), sliding.data_format)


@wgsl_kernel("DepthwiseConv2dNative", dtypes=("float32", "float16"))
def _depthwise_conv2d_native_webgpu(
    gpu: Gpu, x: GpuArray, filter: GpuArray, **geometry: Any
) -> GpuArray:
    sliding = sliding_of("DepthwiseConv2dNative", x.shape, filter.shape, **geometry)
    return convolve(gpu, sliding, x, filter)


@public(tfjs="separableConv2d")
def separable_conv2d(
    x: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilation: Pair = 1,
    data_format: str = "NHWC",
) -> Tensor:
    """Return a depthwise convolution whose channels are then mixed place by place.

    Args:
        x: [batch, height, width, channels], or one image without the batch. With ``"NCHW"`` the
            channels come before the height.
        depthwise_filter: [filter height, filter width, channels, multiplier].
        pointwise_filter: [1, 1, channels x multiplier, out channels].
        strides: Elements between two places of the depthwise filter.
        pad: As `depthwise_conv2d` takes it.
        dilation: Elements from one that the depthwise filter reads to the next.
        data_format: ``"NHWC"`` or ``"NCHW"``.

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, the filter is larger than the padded image, or
            ``pointwise_filter`` is not 1 x 1.
        ArgumentError: An option is none that `depthwise_conv2d` takes.

    Example:
        >>> x, filter = wk.ones((1, 4, 4, 3)), wk.ones((3, 3, 3, 2))
        >>> wk.separable_conv2d(x, filter, wk.ones((1, 1, 6, 8))).shape
        (1, 2, 2, 8)
    """
    mix = as_floats(pointwise_filter)
    if mix.shape[:2] != (1, 1):
        raise ShapeError(
            f"separable_conv2d: pointwise_filter has shape {show(mix.shape)}; want "
            "[1, 1, channels x multiplier, out channels]."
        )
    y = depthwise_conv2d(
        x,
        depthwise_filter,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilation,
    )
    return conv2d(y, mix, data_format=data_format)
