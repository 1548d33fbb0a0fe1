"""Images resized, and the gradients of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent, wide
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.images.resampling import (
    Centers,
    axes_of,
    check_gradient,
    check_sizes,
    of_shape,
    resized,
    resized_on_device,
    taken_back,
    taken_back_on_device,
)
from wgsl_kernels.ops.rules.numbers import as_float
from wgsl_kernels.ops.rules.specs import NUMBERS, float_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec


@public(tfjs="image.resizeBilinear")
def resize_bilinear(
    images: TensorLike,
    size: Sequence[int],
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Return images in another size, each element between the four around its place.

    Args:
        images: [batch, height, width, channels], or without the batch; real.
        size: The new height and width.
        align_corners: Whether the corners stay where they are.
        half_pixel_centers: Whether an element stands for the middle of its pixel, as in other
            libraries; not together with ``align_corners``.

    Returns:
        [batch, new height, new width, channels], float32.

    Raises:
        ShapeError: ``images`` has another rank, or an axis of length 0 or above 16384.
        ArgumentError: ``size`` is not two lengths in [1, 16384], or both options are given.

    Example:
        >>> resize_bilinear(tensor([[[[0.0], [4.0]]]]), (1, 4)).numpy().reshape(-1)
        array([0., 2., 4., 4.], dtype=float32)
    """
    return resized("ResizeBilinear", images, size, align_corners, half_pixel_centers)


@signature("ResizeBilinear")
@takes(Centers)
def _resize_bilinear_signature(images: Spec, /, *, size: Shape, **centers: bool) -> Spec:
    require_dtype("ResizeBilinear", "images", images, "float32", "int32")
    check_sizes("ResizeBilinear", images, size, **centers)
    batch, _, _, channels = images.shape
    return images.like(shape=(batch, *size, channels), dtype=float_dtype(images.dtype))


@cpu_kernel("ResizeBilinear")
@silent
def _resize_bilinear_cpu(images: Array, *, size: Shape, **centers: bool) -> Array:
    given = as_float(images)
    x = wide(given)
    axes = axes_of(x.shape, size, **centers, linear=True)
    for place in (2, 1):  # between columns first, as on the device
        low, high, share = axes[place - 1].sources(linear=True)
        before, after = np.take(x, low, place), np.take(x, high, place)
        weights = share.astype(x.dtype).reshape((-1,) + (1,) * (3 - place))
        x = before + (after - before) * weights
    return x.astype(given.dtype, copy=False)


@wgsl_kernel("ResizeBilinear")
def _resize_bilinear_webgpu(
    gpu: Gpu, images: GpuArray, *, size: Shape, **centers: bool
) -> GpuArray:
    axes = axes_of(images.shape, size, **centers, linear=True)
    dtype = float_dtype(images.dtype)
    return resized_on_device(gpu, images, axes, dtype=dtype, linear=True)


@public(tfjs="image.resizeNearestNeighbor")
def resize_nearest_neighbor(
    images: TensorLike,
    size: Sequence[int],
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Return images in another size, each element the one nearest to its place.

    Args:
        images: [batch, height, width, channels], or without the batch; real.
        size: The new height and width.
        align_corners: Whether the corners stay where they are; places are then rounded, halves
            up, and else rounded down.
        half_pixel_centers: Whether an element stands for the middle of its pixel; not together
            with ``align_corners``.

    Returns:
        [batch, new height, new width, channels], of the dtype of ``images``.

    Raises:
        ShapeError: ``images`` has another rank, or an axis of length 0 or above 16384.
        ArgumentError: ``size`` is not two lengths in [1, 16384], or both options are given.

    Example:
        >>> resize_nearest_neighbor(tensor([[[[1], [2]]]]), (1, 4)).tolist()
        [[[[1], [1], [2], [2]]]]
    """
    return resized("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers)


@signature("ResizeNearestNeighbor")
@takes(Centers)
def _resize_nearest_signature(images: Spec, /, *, size: Shape, **centers: bool) -> Spec:
    require_dtype("ResizeNearestNeighbor", "images", images, *NUMBERS)
    check_sizes("ResizeNearestNeighbor", images, size, **centers)
    batch, _, _, channels = images.shape
    return images.like(shape=(batch, *size, channels))


@cpu_kernel("ResizeNearestNeighbor")
def _resize_nearest_cpu(images: Array, *, size: Shape, **centers: bool) -> Array:
    rows, columns = axes_of(images.shape, size, **centers, linear=False)
    lines = np.take(images, rows.sources(linear=False)[0], 1)
    return np.take(lines, columns.sources(linear=False)[0], 2)


@wgsl_kernel("ResizeNearestNeighbor")
def _resize_nearest_webgpu(gpu: Gpu, images: GpuArray, *, size: Shape, **centers: bool) -> GpuArray:
    axes = axes_of(images.shape, size, **centers, linear=False)
    return resized_on_device(gpu, images, axes, dtype=images.dtype, linear=False)


def _declare_gradient(kernel: str, *, linear: bool) -> None:
    """Declare the gradient of a kernel, which has one of its own."""
    name = f"{kernel}Grad"

    @gradient(kernel)
    def of_resized(dy: Tensor, images_shape: Shape, size: Shape, **centers: bool) -> Tensor:
        return run(name, of_shape(images_shape, dy), dy, size=size, **centers)

    @signature(name)
    @takes(Centers)
    def rule(images: Spec, dy: Spec, /, *, size: Shape | None = None, **centers: bool) -> Spec:
        check_sizes(name, images, check_gradient(name, images, dy, size), **centers)
        return dy.like(shape=images.shape)

    @cpu_kernel(name)
    def on_cpu(images: Array, dy: Array, *, align_corners: bool, half_pixel_centers: bool) -> Array:
        size = dy.shape[1:3]
        options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
        return taken_back(dy, axes_of(images.shape, size, **options, linear=linear), linear=linear)

    @wgsl_kernel(name)
    def on_webgpu(
        gpu: Gpu, images: GpuArray, dy: GpuArray, *, align_corners: bool, half_pixel_centers: bool
    ) -> GpuArray:
        size = dy.shape[1:3]
        options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
        axes = axes_of(images.shape, size, **options, linear=linear)
        return taken_back_on_device(gpu, dy, axes, linear=linear)

    @gradient(name)
    def of_gradient(
        ddx: Tensor, dy_shape: Shape, align_corners: bool, half_pixel_centers: bool
    ) -> tuple[None, Tensor]:
        attrs = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
        return None, run(kernel, ddx, size=dy_shape[1:3], **attrs)


_declare_gradient("ResizeBilinear", linear=True)
_declare_gradient("ResizeNearestNeighbor", linear=False)
