"""Convolution of images, and its transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.convolution import convolved_cpu
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import (
    NO_EPILOGUE,
    Epilogue,
    declare_product,
    is_vec4_along,
    multiply,
)
from wgsl_kernels.backends.webgpu.products.tilings import STRIDED, VEC4_KN, VEC4_N, Layout, Product
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import lengths
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.engine.windows import Padding, Pair, Sliding, slide
from wgsl_kernels.ops import conv_gradients as _conv_gradients  # noqa: F401  registers kernels
from wgsl_kernels.ops.convolutions import Convolution, declare_convolution
from wgsl_kernels.ops.windows import convolved, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape

OPERANDS = "operands/conv_window.wesl"

CONVOLUTION = Convolution("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", convolved)

declare_product("Conv2D")
declare_convolution(CONVOLUTION)


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


@cpu_kernel("Conv2D")
def conv2d_cpu(x: Array, filter: Array, **geometry: Any) -> Array:
    """Convolve: products of windows, laid side by side, with the filter."""
    sliding = slide("Conv2D", x.shape, filter.shape, **geometry)
    return convolved_cpu(sliding, wide(x), wide(filter)).astype(x.dtype, copy=False)


@wgsl_kernel("Conv2D", dtypes=("float32", "float16"), accepts_epilogue=True)
def _conv2d_webgpu(gpu: Gpu, x: GpuArray, filter: GpuArray, **geometry: Any) -> GpuArray:
    return convolved_webgpu(gpu, slide("Conv2D", x.shape, filter.shape, **geometry), x, filter)


def convolved_webgpu(
    gpu: Gpu,
    sliding: Sliding,
    x: GpuArray,
    filter: GpuArray,
    epilogue: Epilogue = NO_EPILOGUE,
) -> GpuArray:
    """Return images convolved with a filter.

    Args:
        gpu: The device.
        sliding: How the filter moves.
        x: Images in the format of ``sliding``.
        filter: [filter height, filter width, channels, out channels].
        epilogue: What becomes of the sums.
    """
    product, fields = _forward_product(x, filter.shape, sliding)
    return multiply(
        gpu,
        OPERANDS,
        product,
        {"x": x, "filter": filter},
        sliding.shape_with(filter.shape[3]),
        x.dtype,
        params=fields,
        layout=_forward_layout(x, filter, sliding.data_format),
        epilogue=epilogue,
    )


def _forward_layout(x: GpuArray, filter: GpuArray, data_format: str) -> Layout:
    """Return what the layouts of images and filter allow."""
    if data_format != "NHWC" or filter.shape[3] % 4:
        return STRIDED
    return VEC4_KN if is_vec4_along(x, 3) else VEC4_N


def _forward_product(
    x: GpuArray, filter_shape: Shape, sliding: Sliding
) -> tuple[Product, dict[str, Any]]:
    """Return the sizes of a convolution as a product, and the fields of its shaders.

    Where a line of the window is one piece of the image, it counts as one tap with the channels of
    them all; the field ``line`` then has those of one element, else 0.
    """
    height, width, channels, out_channels = filter_shape
    rows = sliding.batch * sliding.rows.out * sliding.cols.out
    fields = {**sliding.fields(), "line": 0}
    is_line = sliding.data_format == "NHWC" and width > 1 and sliding.cols.dilation == 1
    if is_line and x.strides[2] == channels * x.strides[3]:
        fields |= {"window": (height, 1), "line": channels}
        return Product(1, rows, out_channels, height, width * channels), fields
    return Product(1, rows, out_channels, height * width, channels), fields


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
    )
