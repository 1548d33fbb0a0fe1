"""Where the elements of resized images come from, and how they are resampled.

Places are fractions of whole numbers, on both backends, so that none is rounded into a neighbour.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

LARGEST = 1 << 14
"""Length of an axis, so that the fractions' numerators are of 31 bits."""


class ResizedAxis(NamedTuple):
    """Element i of a resized axis is at (i * step + start) / divisor of the one before."""

    length: int
    size: int
    step: int
    start: int
    divisor: int

    def sources(self, linear: bool) -> tuple[Array, Array, Array]:
        """Return for each element those below and above it, and the share of the one above."""
        places = np.arange(self.size, dtype=np.int64) * self.step + self.start
        below = places // self.divisor
        low, high = (np.clip(one, 0, self.length - 1) for one in (below, below + 1))
        share = (places - below * self.divisor) / self.divisor
        return (low, high, share) if linear else (low, low, np.zeros(self.size))

    def matrix(self, linear: bool) -> Array:
        """Return the weights, [size, length], float64."""
        low, high, share = self.sources(linear)
        found = np.zeros((self.size, self.length))
        np.add.at(found, (np.arange(self.size), low), 1 - share)
        np.add.at(found, (np.arange(self.size), high), share)
        return found


class Centers:
    """The attributes that say where elements are, as signatures declare them."""

    align_corners: bool = False
    half_pixel_centers: bool = False


def axes_of(
    shape: Shape, size: Shape, *, align_corners: bool, half_pixel_centers: bool, linear: bool
) -> list[ResizedAxis]:
    """Return how rows and columns are resampled."""
    return [
        _axis(before, after, align_corners and after > 1, half_pixel_centers, linear)
        for before, after in zip(shape[1:3], size, strict=True)
    ]


def _axis(length: int, size: int, aligned: bool, half: bool, linear: bool) -> ResizedAxis:
    top, bottom = (length - 1, size - 1) if aligned else (length, size)
    if linear:
        if half:  # (i + 1/2) * length / size - 1/2
            return ResizedAxis(length, size, 2 * length, length - size, 2 * size)
        return ResizedAxis(length, size, top, 0, bottom)
    if half:  # (i + 1/2) * length / size
        return ResizedAxis(length, size, 2 * length, length, 2 * size)
    if aligned:  # rounded, halves up
        return ResizedAxis(length, size, 2 * top, bottom, 2 * bottom)
    return ResizedAxis(length, size, top, 0, bottom)


def resized(
    kernel: str, images: TensorLike, size: Sequence[int], aligned: bool, half: bool
) -> Tensor:
    """Run a kernel of a batch of images, also on one image."""
    given = as_tensor(images)
    single = given.ndim == 3
    batch = shapes.expand_dims(given) if single else given
    attrs = {"align_corners": aligned, "half_pixel_centers": half}
    found = run(kernel, batch, size=size, **attrs)
    return shapes.reshape(found, found.shape[1:]) if single else found


def check_sizes(
    kernel: str, images: Spec, size: Shape, *, align_corners: bool, half_pixel_centers: bool
) -> None:
    """Refuse images or sizes that cannot be.

    Raises:
        ShapeError, ArgumentError: They cannot.
    """
    require_rank(kernel, "images", images, 4)
    if len(size) != 2 or not all(0 < one <= LARGEST for one in size):
        raise ArgumentError(f"{kernel}: size is {show(size)}; want two lengths in [1, {LARGEST}].")
    if not all(0 < one <= LARGEST for one in images.shape[1:3]):
        raise ShapeError(
            f"{kernel}: images has shape {show(images.shape)}; want a height and a width in [1, "
            f"{LARGEST}]."
        )
    if align_corners and half_pixel_centers:
        raise ArgumentError(
            f"{kernel}: align_corners and half_pixel_centers are both True; want one at most."
        )


def resized_on_device(
    gpu: Gpu, images: GpuArray, axes: list[ResizedAxis], *, dtype: DType, linear: bool
) -> GpuArray:
    """Return images, each element resampled at its place."""
    batch, height, width, channels = images.shape
    rows, columns = axes
    y = gpu.empty((batch, rows.size, columns.size, channels), dtype)
    if y.size:
        gpu.dispatch(
            "images/resampling/resize.wesl",
            {"images": images, "y": y},
            params={
                "channels": channels,
                "is_linear": int(linear),
                "shape": (height, width),
                "size": (rows.size, columns.size),
                "step": (rows.step, columns.step),
                "start": (rows.start, columns.start),
                "divisor": (rows.divisor, columns.divisor),
            },
        )
    return y


def of_shape(shape: Shape, dy: Tensor) -> Tensor:
    """Return a tensor of a shape that holds one number only."""
    return shapes.broadcast_to(creation.zeros((), dtype=dy.dtype), shape)


def check_gradient(kernel: str, images: Spec, dy: Spec, size: Shape | None) -> Shape:
    """Return the size that images had after resizing, or refuse the gradient's inputs."""
    require_rank(kernel, "images", images, 4)
    require_rank(kernel, "dy", dy, 4)
    require_dtype(kernel, "images", images, "float32", "int32")
    require_dtype(kernel, "dy", dy, "float32")
    wanted = dy.shape[1:3] if size is None else size
    batch, _, _, channels = images.shape
    if dy.shape != (batch, *wanted, channels):
        raise ShapeError(
            f"{kernel}: dy has shape {show(dy.shape)} and images {show(images.shape)}; want dy of "
            f"{show((batch, *wanted, channels))}."
        )
    return wanted


def _weighed(weights: Array, values: Array) -> Array:
    """Return weights @ values, where a weight of 0 is no term: it meets no NaN."""
    if np.isfinite(values).all():
        return np.asarray(np.matmul(weights, values))
    found = np.zeros((*values.shape[:-2], weights.shape[0], values.shape[-1]))
    for to, source in zip(*np.nonzero(weights), strict=True):
        found[..., to, :] += weights[to, source] * values[..., source, :]
    return found


@silent
def taken_back(dy: Array, axes: list[ResizedAxis], *, linear: bool) -> Array:
    """Return the sum for each element of what it was used for."""
    rows, columns = (one.matrix(linear) for one in axes)
    batch, _, _, channels = dy.shape
    if not dy.size:
        return np.zeros((batch, axes[0].length, axes[1].length, channels), dy.dtype)
    across = _weighed(columns.T, dy.astype(np.float64))  # [batch, size, width, channels]
    flat = across.reshape(batch, across.shape[1], -1)
    shape = (batch, axes[0].length, axes[1].length, channels)
    return _weighed(rows.T, flat).reshape(shape).astype(dy.dtype)


def taken_back_on_device(
    gpu: Gpu, dy: GpuArray, axes: list[ResizedAxis], *, linear: bool
) -> GpuArray:
    """Sum along columns, then along rows: fewer terms than both at once, in float32 between."""
    shape, dtype = list(dy.shape), dy.dtype
    for place in (2, 1):
        axis = axes[place - 1]
        shape[place] = axis.length
        y = gpu.empty(tuple(shape), dtype if place == 1 else "float32")
        if y.size:
            _, size, step, start, divisor = axis
            gpu.dispatch(
                "images/resampling/resize_axis_grad.wesl",
                {"dy": dy, "y": y},
                params={
                    "inner": math.prod(shape[place + 1 :]),
                    "length": axis.length,
                    "size": size,
                    "step": step,
                    "start": start,
                    "divisor": divisor,
                    "is_linear": int(linear),
                },
            )
        dy = y
    return dy
