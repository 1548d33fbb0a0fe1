"""Convolution of images, its transpose, and the gradients of both.

The three kernels are one sum over three factors (image, filter, result), so that the gradients of
each are the other two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops.products import (
    REGISTERS,
    VEC4,
    VEC4_ROWS,
    Product,
    Shaders,
    Tiling,
    lie_in_fours,
    multiply,
)
from wgsl_kernels.ops.windows import Padding, Pair, Sliding, channels_last, in_format, slide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec

CHANNELS = {"NHWC": 3, "NCHW": 1}
"""The axis of the channels."""

FORWARD = Shaders("conv/conv2d.wgsl", last="matrix/sum_parts.wgsl")
TO_FILTER = Shaders("conv/conv2d_backprop_filter.wgsl", last="matrix/sum_parts.wgsl")
TO_INPUT = Shaders("conv/conv2d_backprop_input.wgsl", last="matrix/sum_parts.wgsl")


def conv2d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
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

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, or the filter is larger than the padded image.
        ArgumentError: An option is none of these.
    """
    return on_batch(
        "Conv2D",
        as_tensor(x),
        filter,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
    )


def on_batch(kernel: str, x: Tensor, *others: Any, **attrs: Any) -> Tensor:
    """Run a kernel on images, or on one that has no batch axis."""
    if x.ndim != 3:
        return run(kernel, x, *others, **attrs)
    y = run(kernel, run("Reshape", x, shape=(1, *x.shape)), *others, **attrs)
    return run("Reshape", y, shape=y.shape[1:])


@signature("Conv2D", promote=("x", "filter"))
def _conv2d_signature(
    x: Spec,
    filter: Spec,
    /,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    return x.like(
        shape=convolved(
            "Conv2D",
            x,
            filter,
            strides=strides,
            pad=pad,
            data_format=data_format,
            dilations=dilations,
            dim_rounding_mode=dim_rounding_mode,
        )
    )


def convolved(kernel: str, x: Spec, filter: Spec, **geometry: Any) -> Shape:
    """Return the shape that a convolution gives; ``geometry`` is its attributes.

    Raises:
        ShapeError, DTypeError, ArgumentError: It cannot be.
    """
    for name, spec in (("x", x), ("filter", filter)):
        require_dtype(kernel, name, spec, "float32")
        require_rank(kernel, name, spec, 4)
    sliding = slide(kernel, x.shape, filter.shape, **geometry)
    if sliding.channels != filter.shape[2]:
        raise ShapeError(
            f"{kernel}: channels differ: x is {show(x.shape)} ({sliding.data_format}), filter is "
            f"{show(filter.shape)}; want filter[2] == {sliding.channels}."
        )
    return sliding.shape_with(filter.shape[3])


@cpu_kernel("Conv2D")
def conv2d_cpu(x: Array, filter: Array, **geometry: Any) -> Array:
    """Convolve: one product of all windows, laid side by side, with the filter."""
    sliding = slide("Conv2D", x.shape, filter.shape, **geometry)
    windows = sliding.views(sliding.padded(_wide(channels_last(x, sliding.data_format))))
    y = np.tensordot(windows, _wide(filter), 3)
    return in_format(y.astype(x.dtype, copy=False), sliding.data_format)


def _wide(x: Array) -> Array:
    """Return float16 as float32, which BLAS takes; all else as it is."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


@wgsl_kernel("Conv2D", dtypes=("float32", "float16"))
def _conv2d_webgpu(gpu: Gpu, x: GpuArray, filter: GpuArray, **geometry: Any) -> GpuArray:
    sliding = slide("Conv2D", x.shape, filter.shape, **geometry)
    product = forward_product(sliding, filter.shape)
    shape = sliding.shape_with(filter.shape[3])
    operands = {"x": x, "filter": filter}
    return multiply(
        gpu,
        FORWARD,
        product,
        operands,
        shape,
        x.dtype,
        params=sliding.fields(),
        in_fours=forward_tiling(x, filter, sliding.data_format),
    )


def forward_tiling(x: GpuArray, filter: GpuArray, data_format: str) -> Tiling:
    """Return the tiling that the layouts of images and filter allow."""
    fours = filter.shape[3] % 4 == 0 and lie_in_fours(x, CHANNELS[data_format])
    return VEC4 if fours else REGISTERS


def forward_product(sliding: Sliding, filter_shape: Shape) -> Product:
    """Return the sizes of a convolution as a product."""
    height, width, channels, out_channels = filter_shape
    rows = sliding.batch * sliding.rows.out * sliding.cols.out
    return Product(1, rows, out_channels, height * width, channels)


@gradient("Conv2D")
def _conv2d_grad(
    dy: Tensor,
    x: Tensor,
    filter: Tensor,
    strides: Pair,
    pad: Padding,
    data_format: str,
    dilations: Pair,
    dim_rounding_mode: str | None,
) -> tuple[Tensor, Tensor]:
    geometry = _geometry(strides, pad, data_format, dilations, dim_rounding_mode)
    return (
        run("Conv2DBackpropInput", dy, filter, input_shape=x.shape, **geometry),
        run("Conv2DBackpropFilter", x, dy, filter_shape=filter.shape, **geometry),
    )


def _geometry(
    strides: Pair, pad: Padding, data_format: str, dilations: Pair, dim_rounding_mode: str | None
) -> dict[str, Any]:
    return {
        "strides": strides,
        "pad": pad,
        "data_format": data_format,
        "dilations": dilations,
        "dim_rounding_mode": dim_rounding_mode,
    }


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
    filter = x.like(shape=_four(kernel, "filter_shape", filter_shape))
    geometry = _geometry(strides, pad, data_format, dilations, dim_rounding_mode)
    _check_dy(kernel, dy, convolved(kernel, x, filter, **geometry))
    return filter


def _four(kernel: str, name: str, shape: Sequence[int]) -> Shape:
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if len(lengths) != 4 or not all(type(one) is int and one >= 0 for one in lengths):
        raise ArgumentError(f"{kernel}: {name} is {shape!r}; want four lengths.")
    return lengths


def _check_dy(kernel: str, dy: Spec, shape: Shape) -> None:
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
    windows = sliding.views(sliding.padded(_wide(channels_last(x, sliding.data_format))))
    every_place = ([0, 1, 2], [0, 1, 2])
    y = np.tensordot(windows, _wide(channels_last(dy, sliding.data_format)), every_place)
    return y.astype(x.dtype, copy=False)


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
        in_fours=VEC4_ROWS if last else REGISTERS,
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
) -> tuple[Tensor, Tensor]:
    geometry = _geometry(strides, pad, data_format, dilations, dim_rounding_mode)
    return (
        run("Conv2DBackpropInput", dy, ddw, input_shape=x.shape, **geometry),
        run("Conv2D", x, ddw, **geometry),
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
    x = dy.like(shape=_four(kernel, "input_shape", input_shape))
    geometry = _geometry(strides, pad, data_format, dilations, dim_rounding_mode)
    _check_dy(kernel, dy, convolved(kernel, x, filter, **geometry))
    return x


@cpu_kernel("Conv2DBackpropInput")
def _conv2d_backprop_input_cpu(
    dy: Array, filter: Array, *, input_shape: Shape, **geometry: Any
) -> Array:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    rows, cols = sliding.rows, sliding.cols
    shares = np.tensordot(
        _wide(channels_last(dy, sliding.data_format)), _wide(filter), ([3], [3])
    )  # [batch, out rows, out cols, window rows, window cols, channels]
    padded = sliding.room(filter.shape[2], shares.dtype)
    if shares.size:
        for down in range(rows.window):
            for right in range(cols.window):
                padded[:, rows.places(down), cols.places(right)] += shares[:, :, :, down, right]
    y = np.ascontiguousarray(sliding.cropped(padded)).astype(dy.dtype, copy=False)
    return in_format(y, sliding.data_format)


@wgsl_kernel("Conv2DBackpropInput", dtypes=("float32", "float16"))
def _conv2d_backprop_input_webgpu(
    gpu: Gpu, dy: GpuArray, filter: GpuArray, *, input_shape: Shape, **geometry: Any
) -> GpuArray:
    sliding = slide("Conv2DBackpropInput", input_shape, filter.shape, **geometry)
    height, width, channels, out_channels = filter.shape
    rows = sliding.batch * sliding.rows.size * sliding.cols.size
    product = Product(1, rows, channels, height * width, out_channels)
    fours = channels % 4 == 0 and lie_in_fours(dy, CHANNELS[sliding.data_format])
    fours = fours and gpu.is_software
    if fours:  # that shader wants the channels of y as the filter's last axis
        turned = (height, width, out_channels, channels)
        *outer, inner, last = filter.strides
        filter = gpu.contiguous(gpu.view(filter, turned, (*outer, last, inner), filter.offset))
    return multiply(
        gpu,
        TO_INPUT,
        product,
        {"dy": dy, "filter": filter},
        tuple(input_shape),
        dy.dtype,
        params=sliding.fields(),
        in_fours=VEC4 if fours else REGISTERS,
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
) -> tuple[Tensor, Tensor]:
    geometry = _geometry(strides, pad, data_format, dilations, dim_rounding_mode)
    return (
        run("Conv2D", ddx, filter, **geometry),
        run("Conv2DBackpropFilter", ddx, dy, filter_shape=filter.shape, **geometry),
    )


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

    Raises:
        ShapeError: `conv2d` does not take ``output_shape`` to the shape of ``x``.
        ArgumentError: An option is none that `conv2d` takes.
    """
    images = as_tensor(x)
    shape = tuple(output_shape)
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
    )
