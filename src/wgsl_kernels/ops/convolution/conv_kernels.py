"""The kernels of convolution and of its gradients: of images, and of volumes.

All are products: of windows and the filter, of windows and gradients, of gradients and the filter.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import wide
from wgsl_kernels.backends.cpu.windows.convolution import (
    convolved_cpu,
    filter_gradient_cpu,
    input_gradient_cpu,
)
from wgsl_kernels.backends.cpu.windows.groups import grouped_cpu
from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, is_row_major, row_major
from wgsl_kernels.backends.webgpu.control.parts import excess, excess_of
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import (
    ProductCut,
    declare_product,
    in_parts,
    is_above_limit,
    is_vec4_along,
    multiply,
)
from wgsl_kernels.backends.webgpu.products.tilings import (
    STRIDED,
    VEC4_KK,
    VEC4_KN,
    VEC4_MN,
    VEC4_N,
    VEC4_N_TO_SCALARS,
    Product,
    Vec4Axes,
)
from wgsl_kernels.engine.values.windows import slide
from wgsl_kernels.ops.convolution.windows import fields_of, shader_axes
from wgsl_kernels.ops.linear_algebra.matrix import product_webgpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.engine.values.windows import Sliding
    from wgsl_kernels.ops.convolution.convolutions import Convolution

FORWARD = "operands/conv_window.wesl"
TO_FILTER = "operands/conv_filter_gradient.wesl"
TO_INPUT = "operands/conv_input_gradient.wesl"

LEAST_PLACES = 64
"""Places of an image that fill the widest tile of a product."""


def declare_kernels(kind: Convolution) -> Callable[..., Array]:
    """Declare the kernels of a kind of convolution; return the one that convolves on the CPU."""
    for kernel in (kind.forward, kind.to_input, kind.to_filter):
        declare_product(kernel)
    _declare_to_input(kind.to_input)
    _declare_to_filter(kind.to_filter)

    @cpu_kernel(kind.forward)
    def convolve_cpu(x: Array, filter: Array, *, groups: int = 1, **geometry: Any) -> Array:
        sliding = slide(kind.forward, x.shape, filter.shape, **geometry)
        if groups > 1:
            y = grouped_cpu(sliding, wide(x), wide(filter), groups)
        else:
            y = convolved_cpu(sliding, wide(x), wide(filter))
        return y.astype(x.dtype, copy=False)

    @wgsl_kernel(kind.forward, dtypes=("float32", "float16"))
    def convolve_webgpu(
        gpu: Gpu, x: GpuArray, filter: GpuArray, *, groups: int, **geometry: Any
    ) -> GpuArray:
        sliding = slide(kind.forward, x.shape, filter.shape, **geometry)
        return convolved_webgpu(gpu, sliding, x, filter, groups=groups)

    return convolve_cpu


def _of_group(sliding: Sliding, groups: int) -> Sliding:
    """Return how the filter of one group moves over its channels."""
    return sliding if groups == 1 else replace(sliding, channels=sliding.channels // groups)


def _by_group(
    product: Callable[[Array, Array], Array],
    groups: int,
    a: tuple[Array, int],
    b: tuple[Array, int],
    axis: int,
) -> Array:
    """Return products of the groups of two arrays, side by side.

    Args:
        product: What multiplies those of one group.
        groups: How many there are.
        a: The first, and its axis of channels.
        b: The second, and its axis.
        axis: That of the result.
    """
    if groups == 1:
        return product(a[0], b[0])
    parts = zip(np.split(a[0], groups, a[1]), np.split(b[0], groups, b[1]), strict=True)
    return np.concatenate([product(*pair) for pair in parts], axis)


def convolved_webgpu(
    gpu: Gpu,
    sliding: Sliding,
    x: GpuArray,
    filter: GpuArray,
    groups: int = 1,
    dtype: DType | None = None,
) -> GpuArray:
    """Return images convolved with a filter.

    Args:
        gpu: The device.
        sliding: How the filter moves.
        x: Images in the format of ``sliding``.
        filter: [*window, channels, out channels].
        groups: Parts of the channels that are convolved apart.
        dtype: The result's dtype, by default that of ``x``; for arrays above the binding limit it
            is that.
    """
    shape = sliding.shape_with(filter.shape[-1])
    if is_above_limit(gpu, shape, x, filter):
        axis, is_filter = _channels(sliding), excess(gpu, filter) > 1
        cuts = (
            ProductCut(-len(shape), None, -len(shape)),
            ProductCut(axis, -2, None),
            ProductCut(None, -1, axis),
        )
        cut = _cut(gpu, sliding, x, cuts, groups, is_filter=is_filter)

        def part(x: GpuArray, filter: GpuArray) -> GpuArray:
            own = replace(sliding, batch=x.shape[0], channels=x.shape[axis])
            return convolved_webgpu(gpu, own, x, filter, groups)

        return in_parts(gpu, part, x, filter, shape, cut)
    if _is_product_of_matrices(sliding, x):
        return _matrices_webgpu(gpu, x, filter, shape, groups, dtype)
    product, fields = _forward_product(x, filter.shape, sliding, groups)
    return multiply(
        gpu,
        FORWARD,
        product,
        {"x": x, "filter": filter},
        shape,
        dtype or x.dtype,
        params=fields,
        layout=_forward_layout(x, filter, sliding, groups),
        configuration=shader_axes(sliding, groups),
    )


def _is_product_of_matrices(sliding: Sliding, x: GpuArray) -> bool:
    """Say whether each image, its channels first, is matrices that the filter is multiplied with.

    Its places are contiguous then, and so are the result's: they are read and written as vec4,
    where as rows of a product they would be read and written one by one. As such, though, those of
    all images together fill tiles.
    """
    places = math.prod(axis.out for axis in sliding.axes)
    return (
        sliding.is_channels_first
        and places % 4 == 0
        and (sliding.batch == 1 or places >= LEAST_PLACES)
        and all(axis.window == axis.stride == 1 and axis.size == axis.out for axis in sliding.axes)
        and is_row_major(x.shape[2:], x.strides[2:])
    )


def _matrices_webgpu(
    gpu: Gpu, x: GpuArray, filter: GpuArray, shape: Shape, groups: int, dtype: DType | None
) -> GpuArray:
    """Return images convolved with a filter of one place, as products of matrices."""
    channels, out_channels = filter.shape[-2:]
    along, across = filter.strides[-2:]
    cols = out_channels // groups
    by_image, by_channel = x.strides[:2]
    places = math.prod(x.shape[2:])
    images = gpu.view(
        x,
        (x.shape[0], groups, channels, places),
        (by_image, channels * by_channel, by_channel, 1),
        x.offset,
    )
    filters = gpu.view(
        filter, (groups, channels, cols), (cols * across, along, across), filter.offset
    )
    y = product_webgpu(gpu, filters, images, True, False, dtype or x.dtype)
    return gpu.view(y, shape, row_major(shape), 0)


def _channels(sliding: Sliding) -> int:
    """Return the axis of an image's channels, counted from the last."""
    return -1 - len(sliding.axes) if sliding.is_channels_first else -1


def _cut(
    gpu: Gpu,
    sliding: Sliding,
    a: GpuArray,
    cuts: tuple[ProductCut, ProductCut, ProductCut],
    groups: int,
    *,
    is_filter: bool,
) -> ProductCut:
    """Return what to cut: images, else the channels of ``a``, else those of other images.

    Where channels are in groups only images are cut.

    Args:
        gpu: The device.
        sliding: How the filter moves.
        a: The first operand.
        cuts: What these three are.
        groups: Parts of the channels that are convolved apart.
        is_filter: Whether the filter is above the limit; then the last is cut.
    """
    by_batch, of_a, others = cuts
    if groups > 1:
        return by_batch
    if is_filter:
        return others
    if sliding.batch > 1:
        return by_batch
    return of_a if excess(gpu, a) > 1 else others


def _forward_layout(x: GpuArray, filter: GpuArray, sliding: Sliding, groups: int) -> Vec4Axes:
    """Return what the layouts of images and filter allow."""
    if filter.shape[-1] // groups % 4:
        return STRIDED
    if sliding.is_channels_first:
        return VEC4_N_TO_SCALARS
    return VEC4_KN if is_vec4_along(x, -1) and _is_vec4(filter.shape[-2]) else VEC4_N


def _is_vec4(channels: int) -> bool:
    """Say whether the channels of a group are whole groups of four."""
    return channels % 4 == 0


def _forward_product(
    x: GpuArray, filter_shape: Shape, sliding: Sliding, groups: int
) -> tuple[Product, dict[str, Any]]:
    """Return the sizes of a convolution as a product, and the fields of its shaders.

    Where a line of the window is one piece of the image, it counts as one tap with the channels of
    them all; the field ``line`` then has those of one element, else 0.
    """
    *window, channels, out_channels = filter_shape
    *lines, width = window
    rows = sliding.places
    fields = {**fields_of(sliding, x=x), "line": 0}
    cols = out_channels // groups
    is_line = not sliding.is_channels_first and width > 1 and sliding.cols.dilation == 1
    if groups == 1 and is_line and x.strides[-2] == channels * x.strides[-1]:
        fields |= {"window": (lines[-1], 1, *lines[:-1]), "line": channels}
        return Product(1, rows, cols, math.prod(lines), width * channels), fields
    return Product(groups, rows, cols, math.prod(window), channels), fields


def _declare_to_filter(kernel: str) -> None:
    @cpu_kernel(kernel)
    def to_filter_cpu(
        x: Array, dy: Array, *, filter_shape: Shape, groups: int = 1, **geometry: Any
    ) -> Array:
        sliding = _of_group(slide(kernel, x.shape, filter_shape, **geometry), groups)
        axis, shape = _channels(sliding), (*filter_shape[:-1], filter_shape[-1] // groups)

        def gradient(x: Array, dy: Array) -> Array:
            return filter_gradient_cpu(sliding, x, dy, shape)

        y = _by_group(gradient, groups, (wide(x), axis), (wide(dy), axis), -1)
        return y.astype(x.dtype, copy=False)

    @wgsl_kernel(kernel, dtypes=("float32", "float16"))
    def to_filter_webgpu(
        gpu: Gpu,
        x: GpuArray,
        dy: GpuArray,
        *,
        filter_shape: Shape,
        groups: int,
        **geometry: Any,
    ) -> GpuArray:
        sliding = slide(kernel, x.shape, filter_shape, **geometry)
        *inner, out_channels = filter_shape
        if is_above_limit(gpu, filter_shape, x, dy):
            batch, axis = -len(x.shape), _channels(sliding)
            is_filter = excess_of(gpu, filter_shape, ITEMSIZE[x.dtype]) > 1
            cuts = (
                ProductCut(batch, batch, None),
                ProductCut(axis, None, -2),
                ProductCut(None, axis, -1),
            )
            cut = _cut(gpu, sliding, x, cuts, groups, is_filter=is_filter)

            def part(x: GpuArray, dy: GpuArray) -> GpuArray:
                shape = (*inner[:-1], x.shape[axis] // groups, dy.shape[axis])
                return to_filter_webgpu(gpu, x, dy, filter_shape=shape, groups=groups, **geometry)

            return in_parts(gpu, part, x, dy, filter_shape, cut)
        lines = sliding.batch * math.prod(axis.out for axis in sliding.axes[:-1])
        cols = out_channels // groups
        product = Product(groups, math.prod(inner), cols, lines, sliding.cols.out)
        is_last = not sliding.is_channels_first
        is_vec4 = is_last and is_vec4_along(x, -1) and is_vec4_along(dy, -1)
        is_vec4 = is_vec4 and _is_vec4(inner[-1]) and _is_vec4(cols)
        return multiply(
            gpu,
            TO_FILTER,
            product,
            {"x": x, "dy": dy},
            tuple(filter_shape),
            x.dtype,
            params=fields_of(sliding, x=x, dy=dy),
            layout=VEC4_MN if is_vec4 else STRIDED,
            configuration=shader_axes(sliding, groups),
        )


def _declare_to_input(kernel: str) -> None:
    @cpu_kernel(kernel)
    def to_input_cpu(
        dy: Array, filter: Array, *, input_shape: Shape, groups: int = 1, **geometry: Any
    ) -> Array:
        sliding = _of_group(slide(kernel, input_shape, filter.shape, **geometry), groups)
        axis = _channels(sliding)
        x = _by_group(
            partial(input_gradient_cpu, sliding),
            groups,
            (wide(dy), axis),
            (wide(filter), -1),
            axis,
        )
        return x.astype(dy.dtype, copy=False)

    @wgsl_kernel(kernel, dtypes=("float32", "float16"))
    def to_input_webgpu(
        gpu: Gpu,
        dy: GpuArray,
        filter: GpuArray,
        *,
        input_shape: Shape,
        groups: int,
        **geometry: Any,
    ) -> GpuArray:
        sliding = slide(kernel, input_shape, filter.shape, **geometry)
        *window, channels, out_channels = filter.shape
        if is_above_limit(gpu, input_shape, dy, filter):
            batch, axis = -len(input_shape), _channels(sliding)
            cuts = (
                ProductCut(batch, None, batch),
                ProductCut(axis, -1, None),
                ProductCut(None, -2, axis),
            )
            cut = _cut(gpu, sliding, dy, cuts, groups, is_filter=excess(gpu, filter) > 1)

            def part(dy: GpuArray, filter: GpuArray) -> GpuArray:
                shape = [dy.shape[0], *input_shape[1:]]
                shape[axis] = filter.shape[-2] * groups
                return to_input_webgpu(
                    gpu, dy, filter, input_shape=tuple(shape), groups=groups, **geometry
                )

            return in_parts(gpu, part, dy, filter, input_shape, cut)
        rows = sliding.batch * math.prod(axis.size for axis in sliding.axes)
        product = Product(groups, rows, channels, math.prod(window), out_channels // groups)
        is_last = not sliding.is_channels_first
        is_vec4 = is_last and _is_vec4(channels) and is_vec4_along(dy, -1)
        is_vec4 = is_vec4 and _is_vec4(out_channels // groups)
        return multiply(
            gpu,
            TO_INPUT,
            product,
            {"dy": dy, "filter": filter},
            tuple(input_shape),
            dy.dtype,
            params=fields_of(sliding, dy=dy),
            layout=VEC4_KK if is_vec4 else STRIDED,
            configuration=shader_axes(sliding, groups),
        )
