"""The kernels of the gradients of convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.convolution import filter_gradient_cpu, input_gradient_cpu
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import (
    declare_product,
    is_vec4_along,
    multiply,
)
from wgsl_kernels.backends.webgpu.products.tilings import STRIDED, VEC4_KK, VEC4_MN, Product
from wgsl_kernels.engine.windows import slide
from wgsl_kernels.ops.windows import wide

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape

TO_FILTER = "operands/conv_filter_gradient.wesl"
TO_INPUT = "operands/conv_input_gradient.wesl"

declare_product("Conv2DBackpropFilter")
declare_product("Conv2DBackpropInput")


@cpu_kernel("Conv2DBackpropFilter")
def _conv2d_backprop_filter_cpu(
    x: Array, dy: Array, *, filter_shape: Shape, **geometry: Any
) -> Array:
    sliding = slide("Conv2DBackpropFilter", x.shape, filter_shape, **geometry)
    return filter_gradient_cpu(sliding, wide(x), wide(dy), filter_shape).astype(x.dtype, copy=False)


@wgsl_kernel("Conv2DBackpropFilter", dtypes=("float32", "float16"), accepts_epilogue=True)
def _conv2d_backprop_filter_webgpu(
    gpu: Gpu, x: GpuArray, dy: GpuArray, *, filter_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = slide("Conv2DBackpropFilter", x.shape, filter_shape, **geometry)
    data_format = sliding.data_format
    height, width, channels, out_channels = filter_shape
    lines = sliding.batch * sliding.rows.out
    product = Product(1, height * width * channels, out_channels, lines, sliding.cols.out)
    is_vec4 = data_format == "NHWC" and is_vec4_along(x, 3) and is_vec4_along(dy, 3)
    return multiply(
        gpu,
        TO_FILTER,
        product,
        {"x": x, "dy": dy},
        tuple(filter_shape),
        x.dtype,
        params=sliding.fields(),
        layout=VEC4_MN if is_vec4 else STRIDED,
    )


@cpu_kernel("Conv2DBackpropInput")
def _conv2d_backprop_input_cpu(
    dy: Array, filter: Array, *, input_shape: Shape, **geometry: Any
) -> Array:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    return input_gradient_cpu(sliding, wide(dy), wide(filter)).astype(dy.dtype, copy=False)


@wgsl_kernel("Conv2DBackpropInput", dtypes=("float32", "float16"), accepts_epilogue=True)
def _conv2d_backprop_input_webgpu(
    gpu: Gpu, dy: GpuArray, filter: GpuArray, *, input_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    height, width, channels, out_channels = filter.shape
    rows = sliding.batch * sliding.rows.size * sliding.cols.size
    product = Product(1, rows, channels, height * width, out_channels)
    is_vec4 = sliding.data_format == "NHWC" and channels % 4 == 0 and is_vec4_along(dy, 3)
    return multiply(
        gpu,
        TO_INPUT,
        product,
        {"dy": dy, "filter": filter},
        tuple(input_shape),
        dy.dtype,
        params=sliding.fields(),
        layout=VEC4_KK if is_vec4 else STRIDED,
    )
