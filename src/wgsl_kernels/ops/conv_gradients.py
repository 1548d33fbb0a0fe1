"""The gradients of convolution.

Conv2D and these two are one sum over three factors (image, filter, result), so that the gradients
of each are the other two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.ops.columns import filter_gradient_cpu, input_gradient_cpu
from wgsl_kernels.ops.products import Shaders, declare_product, lie_in_fours, multiply
from wgsl_kernels.ops.tilings import ANYHOW, ROWS, TERMS, Product
from wgsl_kernels.ops.windows import (
    convolved,
    geometry_of,
    slide,
    wide,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec
    from wgsl_kernels.engine.tape import Lazy
    from wgsl_kernels.engine.tensor import Tensor
    from wgsl_kernels.ops.windows import Padding, Pair

TO_FILTER = Shaders("conv/conv2d_backprop_filter", last="matrix/sum_parts.wgsl")
TO_INPUT = Shaders("conv/conv2d_backprop_input", last="matrix/sum_parts.wgsl")

declare_product("Conv2DBackpropFilter")
declare_product("Conv2DBackpropInput")


@signature("Conv2DBackpropFilter", promote=("x", "dy"))
def _conv2d_backprop_filter_signature(
    x: Spec,
    dy: Spec,
    /,
    *,
    filter_shape: Sequence[int],
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    kernel = "Conv2DBackpropFilter"
    filter = x.like(shape=four(kernel, "filter_shape", filter_shape))
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    check_dy(kernel, dy, convolved(kernel, x, filter, **geometry))
    return filter


def four(kernel: str, name: str, shape: Sequence[int]) -> Shape:
    """Return an attribute that is a shape of images or of a filter.

    Raises:
        ArgumentError: It is not four lengths.
    """
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if len(lengths) != 4 or not all(type(one) is int and one >= 0 for one in lengths):
        raise ArgumentError(f"{kernel}: {name} is {shape!r}; want four lengths.")
    return lengths


def check_dy(kernel: str, dy: Spec, shape: Shape) -> None:
    """Refuse a gradient that has not the shape of what the convolution gives.

    Raises:
        DTypeError, ShapeError: It has another dtype or shape.
    """
    require_dtype(kernel, "dy", dy, "float32")
    if dy.shape != shape:
        raise ShapeError(
            f"{kernel}: dy has shape {show(dy.shape)}; the convolution gives {show(shape)}."
        )


@cpu_kernel("Conv2DBackpropFilter")
def _conv2d_backprop_filter_cpu(
    x: Array, dy: Array, *, filter_shape: Shape, **geometry: Any
) -> Array:
    sliding = slide("Conv2DBackpropFilter", x.shape, filter_shape, **geometry)
    return filter_gradient_cpu(sliding, wide(x), wide(dy), filter_shape).astype(x.dtype, copy=False)


@wgsl_kernel("Conv2DBackpropFilter", dtypes=("float32", "float16"))
def _conv2d_backprop_filter_webgpu(
    gpu: Gpu, x: GpuArray, dy: GpuArray, *, filter_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = slide("Conv2DBackpropFilter", x.shape, filter_shape, **geometry)
    data_format = sliding.data_format
    height, width, channels, out_channels = filter_shape
    lines = sliding.batch * sliding.rows.out
    product = Product(1, height * width * channels, out_channels, lines, sliding.cols.out)
    last = data_format == "NHWC" and lie_in_fours(x, 3) and lie_in_fours(dy, 3)
    return multiply(
        gpu,
        TO_FILTER,
        product,
        {"x": x, "dy": dy},
        tuple(filter_shape),
        x.dtype,
        params=sliding.fields(),
        layout=ROWS if last else ANYHOW,
    )


@gradient("Conv2DBackpropFilter")
def _conv2d_backprop_filter_grad(
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
        lambda: run("Conv2DBackpropInput", dy, ddw, input_shape=x.shape, **geometry),
        lambda: run("Conv2D", x, ddw, **geometry),
    )


@signature("Conv2DBackpropInput", promote=("dy", "filter"))
def _conv2d_backprop_input_signature(
    dy: Spec,
    filter: Spec,
    /,
    *,
    input_shape: Sequence[int],
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    kernel = "Conv2DBackpropInput"
    x = dy.like(shape=four(kernel, "input_shape", input_shape))
    geometry = geometry_of(strides, pad, data_format, dilations, dim_rounding_mode)
    check_dy(kernel, dy, convolved(kernel, x, filter, **geometry))
    return x


@cpu_kernel("Conv2DBackpropInput")
def _conv2d_backprop_input_cpu(
    dy: Array, filter: Array, *, input_shape: Shape, **geometry: Any
) -> Array:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    return input_gradient_cpu(sliding, wide(dy), wide(filter)).astype(dy.dtype, copy=False)


@wgsl_kernel("Conv2DBackpropInput", dtypes=("float32", "float16"))
def _conv2d_backprop_input_webgpu(
    gpu: Gpu, dy: GpuArray, filter: GpuArray, *, input_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    height, width, channels, out_channels = filter.shape
    rows = sliding.batch * sliding.rows.size * sliding.cols.size
    product = Product(1, rows, channels, height * width, out_channels)
    fours = sliding.data_format == "NHWC" and channels % 4 == 0 and lie_in_fours(dy, 3)
    return multiply(
        gpu,
        TO_INPUT,
        product,
        {"dy": dy, "filter": filter},
        tuple(input_shape),
        dy.dtype,
        params=sliding.fields(),
        layout=TERMS if fours else ANYHOW,
    )


@gradient("Conv2DBackpropInput")
def _conv2d_backprop_input_grad(
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
        lambda: run("Conv2D", ddx, filter, **geometry),
        lambda: run("Conv2DBackpropFilter", ddx, dy, filter_shape=filter.shape, **geometry),
    )
