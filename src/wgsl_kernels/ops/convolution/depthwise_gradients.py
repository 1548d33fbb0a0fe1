"""The kernels of the gradients of depthwise convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent, wide
from wgsl_kernels.backends.cpu.windows.depthwise import (
    filter_by_channel,
    input_by_channel,
    spread_out,
)
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.ops.convolution.depthwise_launch import gather_filter, spread_back
from wgsl_kernels.ops.convolution.windows import channels_last, in_format, sliding_of

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape

TO_FILTER = "DepthwiseConv2dNativeBackpropFilter"
TO_INPUT = "DepthwiseConv2dNativeBackpropInput"


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


@cpu_kernel(TO_INPUT)
@silent
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
