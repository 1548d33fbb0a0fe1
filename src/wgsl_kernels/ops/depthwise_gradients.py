"""The gradients of depthwise convolution: like those of `conv2d`, channel by channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.ops.conv_gradients import check_dy, four
from wgsl_kernels.ops.depthwise_launch import gather_filter, spread_back
from wgsl_kernels.ops.depthwise_sums import (
    convolved_by_channel,
    filter_by_channel,
    input_by_channel,
    sliding_of,
    spread_out,
)
from wgsl_kernels.ops.windows import channels_last, geometry_of, in_format, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec
    from wgsl_kernels.engine.tape import Lazy
    from wgsl_kernels.engine.tensor import Tensor
    from wgsl_kernels.ops.windows import Padding, Pair

TO_FILTER = "DepthwiseConv2dNativeBackpropFilter"
TO_INPUT = "DepthwiseConv2dNativeBackpropInput"


@signature(TO_FILTER, promote=("x", "dy"))
def _depthwise_conv2d_native_backprop_filter_signature(
    x: Spec,
    dy: Spec,
    /,
    *,
    filter_shape: Sequence[int],
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair | None = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    filter = x.like(shape=four(TO_FILTER, "filter_shape", filter_shape))
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    check_dy(TO_FILTER, dy, convolved_by_channel(TO_FILTER, x, filter, **geometry))
    return filter


@cpu_kernel(TO_FILTER)
def _depthwise_conv2d_native_backprop_filter_cpu(
    x: Array, dy: Array, *, filter_shape: Shape, **geometry: Any
) -> Array:
    sliding = sliding_of(TO_FILTER, x.shape, filter_shape, **geometry)
    images = spread_out(wide(channels_last(x, sliding.data_format)), filter_shape[3])
    y = filter_by_channel(sliding, images, wide(channels_last(dy, sliding.data_format)))
    return y.reshape(filter_shape).astype(x.dtype, copy=False)


@wgsl_kernel(TO_FILTER, dtypes=("float32", "float16"))
def _depthwise_conv2d_native_backprop_filter_webgpu(
    gpu: Gpu, x: GpuArray, dy: GpuArray, *, filter_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = sliding_of(TO_FILTER, x.shape, filter_shape, **geometry)
    return gather_filter(gpu, sliding, x, dy, tuple(filter_shape))


@gradient(TO_FILTER)
def _depthwise_conv2d_native_backprop_filter_grad(
    ddw: Tensor,
    x: Tensor,
    dy: Tensor,
    strides: Pair,
    pad: Padding,
    data_format: str,
    dilations: Pair,
    dim_rounding_mode: str | None,
) -> tuple[Lazy, Lazy]:
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    return (
        lambda: run(TO_INPUT, dy, ddw, input_shape=x.shape, **geometry),
        lambda: run("DepthwiseConv2dNative", x, ddw, **geometry),
    )


@signature(TO_INPUT, promote=("dy", "filter"))
def _depthwise_conv2d_native_backprop_input_signature(
    dy: Spec,
    filter: Spec,
    /,
    *,
    input_shape: Sequence[int],
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair | None = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    x = dy.like(shape=four(TO_INPUT, "input_shape", input_shape))
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    check_dy(TO_INPUT, dy, convolved_by_channel(TO_INPUT, x, filter, **geometry))
    return x


@cpu_kernel(TO_INPUT)
def _depthwise_conv2d_native_backprop_input_cpu(
    dy: Array, filter: Array, *, input_shape: Shape, **geometry: Any
) -> Array:
    sliding = sliding_of(TO_INPUT, input_shape, filter.shape, **geometry)
    height, width, channels, multiplier = filter.shape
    spread = wide(channels_last(dy, sliding.data_format))
    elements = wide(filter).reshape(height, width, channels * multiplier)
    y = input_by_channel(sliding, spread, elements)
    if multiplier != 1:
        y = y.reshape(*y.shape[:3], channels, multiplier).sum(4)
    return in_format(y.astype(dy.dtype, copy=False), sliding.data_format)


@wgsl_kernel(TO_INPUT, dtypes=("float32", "float16"))
def _depthwise_conv2d_native_backprop_input_webgpu(
    gpu: Gpu, dy: GpuArray, filter: GpuArray, *, input_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = sliding_of(TO_INPUT, input_shape, filter.shape, **geometry)
    return spread_back(gpu, sliding, dy, filter, tuple(input_shape))


@gradient(TO_INPUT)
def _depthwise_conv2d_native_backprop_input_grad(
    ddx: Tensor,
    dy: Tensor,
    filter: Tensor,
    strides: Pair,
    pad: Padding,
    data_format: str,
    dilations: Pair,
    dim_rounding_mode: str | None,
) -> tuple[Lazy, Lazy]:
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    return (
        lambda: run("DepthwiseConv2dNative", ddx, filter, **geometry),
        lambda: run(TO_FILTER, ddx, dy, filter_shape=filter.shape, **geometry),
    )
