"""Images turned, and images through projective transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import binary, classify, logical, unary
from wgsl_kernels.ops.elementwise.unary import trunc
from wgsl_kernels.ops.images.sampling import (
    FILL_MODES,
    METHODS,
    between_dtype,
    check_fill,
    check_images,
    check_word,
    places_at,
    sampled,
    sampled_on_device,
)
from wgsl_kernels.ops.images.sampling_gradients import (
    Neighbour,
    gradient_through,
    image_gradient,
    nearest_gradient,
    neighbours,
    read,
)
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Fill = float | tuple[float, ...]

_OPAQUE = 255.0
"""Of a rotated image's fourth channel, where more than one number fills what is outside."""


@public(tfjs="image.rotateWithOffset")
def rotate_with_offset(
    image: TensorLike,
    radians: float,
    *,
    fill_value: float | Sequence[float] = 0.0,
    center: float | Sequence[float] = 0.5,
) -> Tensor:
    """Return images turned counterclockwise by ``radians``, each element the nearest one.

    Args:
        image: [images, height, width, channels], real.
        radians: The angle.
        fill_value: What lies outside: a number, or one for each of the first three channels; the
            fourth is 255 then. Whole numbers for int32.
        center: What stays in place: the part of width and height before it, a number for both or
            one for each.

    Returns:
        Images of the same shape and dtype.

    Raises:
        ShapeError: ``image`` has another rank, or more channels than are filled.
        ArgumentError: There are other than two finite numbers for the center, none to fill with, or
            such as int32 cannot have.

    Example:
        >>> image = tensor([[[[1.0], [2.0]], [[3.0], [4.0]]]])
        >>> rotate_with_offset(image, 3.141592653589793, center=0.25).tolist()
        [[[[4.0], [3.0]], [[2.0], [1.0]]]]
    """
    return run("RotateWithOffset", image, radians=radians, fill_value=fill_value, center=center)


@signature("RotateWithOffset")
def _rotate_with_offset_signature(
    image: Spec, /, *, radians: float, fill_value: Fill = 0.0, center: Fill = 0.5
) -> Spec:
    name = "RotateWithOffset"
    check_images(name, image, image.shape[1:3], "image")
    channels = image.shape[3]
    numbers = 3 if isinstance(fill_value, float | int) else _count("fill_value", fill_value)
    if numbers < min(channels, 3) or (numbers != 3 and channels > 3):
        raise ArgumentError(
            f"{name}: fill_value is {fill_value} and image has {channels} channels; want a number, "
            "or one for each of the first three."
        )
    if not isinstance(fill_value, float | int) and channels > 4:
        raise ShapeError(
            f"{name}: image has shape {show(image.shape)}; want at most 4 channels, or one "
            "fill_value for all."
        )
    check_fill(name, "fill_value", image, *_filling(fill_value)[:channels])
    across_and_down = center if isinstance(center, tuple) else (center, center)
    if _count("center", across_and_down) != 2 or not all(map(math.isfinite, across_and_down)):
        raise ArgumentError(f"{name}: center is {center}; want a finite number, or two.")
    if not math.isfinite(radians):
        raise ArgumentError(f"{name}: radians is {radians}; want a finite number.")
    return image


def _count(name: str, given: object) -> int:
    """Return how many numbers there are, or refuse what is none."""
    values = given if isinstance(given, tuple) else (given,)
    return len([number("RotateWithOffset", name, one) for one in values])


def _filling(fill_value: Fill) -> tuple[float, ...]:
    """Return what fills each of four channels, of which the last stands for all that follow."""
    if isinstance(fill_value, float | int):
        return (fill_value,) * 4
    return (*(*fill_value, 0.0, 0.0)[:3], _OPAQUE)


def _pivot(shape: Shape, center: Fill) -> tuple[float, float]:
    """Return the row and the column that stay in place."""
    across, down = (center, center) if isinstance(center, float | int) else center
    return shape[1] * down, shape[2] * across


@cpu_kernel("RotateWithOffset")
def _rotate_with_offset_cpu(
    image: Array, *, radians: float, fill_value: Fill, center: Fill
) -> Array:
    count, height, width, channels = image.shape
    sine, cosine = np.float32(math.sin(radians)), np.float32(math.cos(radians))
    down, across = (np.float32(one) for one in _pivot(image.shape, center))
    y = np.arange(height, dtype=np.float32)[np.newaxis, :, np.newaxis] - down
    x = np.arange(width, dtype=np.float32)[np.newaxis, np.newaxis, :] - across
    rows = places_at(x * sine + y * cosine + down, height, "constant", linear=False)
    columns = places_at(x * cosine - y * sine + across, width, "constant", linear=False)
    fill = np.asarray(_filling(fill_value)[: channels if channels <= 4 else 1])
    return sampled(image, np.arange(count), rows, columns, fill, linear=False)


@wgsl_kernel("RotateWithOffset")
def _rotate_with_offset_webgpu(
    gpu: Gpu, image: GpuArray, *, radians: float, fill_value: Fill, center: Fill
) -> GpuArray:
    return sampled_on_device(
        gpu,
        {"image": image},
        image.shape[:3],
        {"ROTATED": True},
        _filling(fill_value),
        {
            "turn": (math.cos(radians), math.sin(radians)),
            "centre": _pivot(image.shape, center),
        },
        image.dtype,
    )


@gradient("RotateWithOffset")
def _rotate_with_offset_grad(
    dy: Tensor, image_shape: Shape, radians: float, center: Fill
) -> Tensor:
    def numbered(numbers: Tensor) -> Tensor:
        return rotate_with_offset(numbers, radians, fill_value=-1.0, center=center)

    return nearest_gradient(dy, numbered, image_shape, _first_rows(image_shape))


def _first_rows(shape: Shape) -> Tensor:
    """Return the number of the first row of each image among those of all, [images, 1, 1]."""
    return shapes.reshape(ranges.arange(shape[0]) * shape[1], (-1, 1, 1))


@public(tfjs="image.transform")
def transform(
    image: TensorLike,
    transforms: TensorLike,
    *,
    interpolation: str = "nearest",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    output_shape: Sequence[int] | None = None,
) -> Tensor:
    """Return images through projective transforms.

    The element at row y and column x comes from column ``(a0 x + a1 y + a2) / k`` and row
    ``(b0 x + b1 y + b2) / k``, k being ``c0 x + c1 y + 1``.

    Args:
        image: [images, height, width, channels], real.
        transforms: float32, [1, 8] or [images, 8]: (a0, a1, a2, b0, b1, b2, c0, c1).
        interpolation: ``"nearest"``, or ``"bilinear"`` between the four elements around a place.
        fill_mode: What lies outside of the image: ``"constant"``, the ``fill_value``;
            ``"reflect"``, the image mirrored at its edges; ``"nearest"``, its edge; ``"wrap"``,
            the image again by TensorFlow's formula, which cuts what is left outside to the edge:
            a repeat for the row and column next to the image only.
        fill_value: For ``"constant"``, and in every mode where k is 0 or a coordinate is not
            finite; a whole number where the result is int32.
        output_shape: Height and width of the result; those of the image without it.

    Returns:
        [images, output height, output width, channels], of the dtype of ``image``; between
        integers float32.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: ``output_shape`` is not two lengths in [1, 16384], there is no such option,
            or ``fill_value`` is no int32 as the result is.

    Example:
        >>> image = tensor([[[[1.0], [2.0], [3.0]]]])
        >>> transform(image, [[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]).tolist()
        [[[[2.0], [3.0], [0.0]]]]
    """
    return run(
        "Transform",
        image,
        transforms,
        interpolation=interpolation,
        fill_mode=fill_mode,
        fill_value=fill_value,
        output_shape=output_shape,
    )


@signature("Transform", floats=("transforms",))
def _transform_signature(
    image: Spec,
    transforms: Spec,
    /,
    *,
    interpolation: str = "nearest",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    output_shape: Shape | None = None,
) -> Spec:
    name = "Transform"
    size = image.shape[1:3] if output_shape is None else output_shape
    check_images(name, image, size, "output_shape")
    check_word(name, "interpolation", interpolation, METHODS)
    check_word(name, "fill_mode", fill_mode, FILL_MODES)
    require_dtype(name, "transforms", transforms, "float32")
    if transforms.shape not in ((1, 8), (image.shape[0], 8)):
        raise ShapeError(
            f"{name}: transforms has shape {show(transforms.shape)} and image "
            f"{show(image.shape)}; want [1, 8], or [images, 8]."
        )
    is_linear = interpolation == "bilinear"
    dtype = between_dtype(image.dtype, transforms.dtype) if is_linear else image.dtype
    check_fill(name, "fill_value", image.like(dtype=dtype), fill_value)
    return image.like(shape=(image.shape[0], *size, image.shape[3]), dtype=dtype)


@cpu_kernel("Transform")
@silent
def _transform_cpu(
    image: Array,
    transforms: Array,
    *,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    output_shape: Shape | None,
) -> Array:
    count, height, width, _ = image.shape
    size = (height, width) if output_shape is None else output_shape
    linear = interpolation == "bilinear"
    kind = np.result_type(transforms.dtype, np.float32)
    a0, a1, a2, b0, b1, b2, c0, c1 = transforms.astype(kind).T[:, :, np.newaxis, np.newaxis]
    y = np.arange(size[0], dtype=kind)[:, np.newaxis]
    x = np.arange(size[1], dtype=kind)[np.newaxis, :]
    depth = c0 * x + c1 * y + 1
    column, row = a0 * x + a1 * y + a2, b0 * x + b1 * y + b2
    exists = (depth != 0) & np.isfinite(depth)
    column = np.where(exists, column / depth, np.nan)
    row = np.where(exists, row / depth, np.nan)
    rows = places_at(row.astype(kind), height, fill_mode, linear)
    columns = places_at(column.astype(kind), width, fill_mode, linear)
    source = image.astype(kind) if linear and image.dtype.kind == "i" else image
    return sampled(source, np.arange(count), rows, columns, np.asarray(fill_value), linear)


@wgsl_kernel("Transform")
def _transform_webgpu(
    gpu: Gpu,
    image: GpuArray,
    transforms: GpuArray,
    *,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    output_shape: Shape | None,
) -> GpuArray:
    linear = interpolation == "bilinear"
    size = image.shape[1:3] if output_shape is None else output_shape
    return sampled_on_device(
        gpu,
        {"image": image, "transforms": transforms},
        (image.shape[0], *size),
        {"LINEAR": linear},
        (fill_value,) * 4,
        {
            "fill_mode": FILL_MODES.index(fill_mode),
            "transforms": transforms.shape[0],
        },
        between_dtype(image.dtype, transforms.dtype) if linear else image.dtype,
    )


@gradient("Transform")
def _transform_grad(
    dy: Tensor,
    image: Tensor,
    transforms: Tensor,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
) -> tuple[object, object]:
    shape = image.shape
    size = dy.shape[1:3]

    def around(given: Tensor) -> list[Neighbour]:
        rows, columns, inside = _places(given, size)
        rows, columns = (
            _within(one, length, fill_mode)
            for one, length in ((rows, shape[1]), (columns, shape[2]))
        )
        return neighbours(rows, columns, _first_rows(shape), shape, inside)

    def numbered(numbers: Tensor) -> Tensor:
        many = shapes.broadcast_to(numbers, (shape[0], *shape[1:3], 2))
        return transform(many, transforms, fill_mode=fill_mode, fill_value=-1.0, output_shape=size)

    def of_image() -> Tensor:
        if interpolation == "nearest":
            return nearest_gradient(dy, numbered, shape, _first_rows(shape))
        return image_gradient(dy, around(transforms), shape)

    def of_transforms() -> Tensor:
        if interpolation == "nearest":
            return creation.zeros_like(transforms)
        fill = creation.full((), fill_value, dtype=dy.dtype)
        return gradient_through(lambda given: read(image, around(given), fill), transforms, dy)

    return of_image, of_transforms


def _places(transforms: Tensor, size: Shape) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows and columns that elements come from, and which of them count."""
    numbers = [shapes.reshape(transforms[:, k], (-1, 1, 1)) for k in range(8)]
    y = shapes.reshape(ranges.arange(size[0], dtype=transforms.dtype), (size[0], 1))
    x = ranges.arange(size[1], dtype=transforms.dtype)
    depth = numbers[6] * x + numbers[7] * y + 1.0
    inside = logical.logical_and(depth != 0.0, classify.isfinite(depth))
    divisor = logical.where(inside, depth, 1.0)
    found = [(numbers[k] * x + numbers[k + 1] * y + numbers[k + 2]) / divisor for k in (3, 0)]
    for one in found:
        inside = logical.logical_and(inside, classify.isfinite(one))
    rows, columns = (logical.where(inside, one, 0.0) for one in found)
    return rows, columns, inside


def _within(place: Tensor, length: int, fill_mode: str) -> Tensor:
    """Return where elements outside of an axis come from, as the kernel has it."""
    if fill_mode == "constant":
        return place
    last = float(length - 1)
    outside = logical.logical_or(place < 0, place > last)
    if length == 1 and fill_mode != "nearest":
        return logical.where(outside, 0.0, place)
    x = place
    if fill_mode == "reflect":
        x = logical.where(x < 0, -x - 1.0, x)
        x = x - 2.0 * length * unary.floor(x / (2.0 * length))
        x = logical.where(x >= length, 2.0 * length - x - 1.0, x)
    elif fill_mode == "wrap":
        before = x + length * (trunc(-x / last) + 1.0)
        x = logical.where(x < 0, before, x - length * trunc(x / last))
    x = binary.minimum(binary.maximum(x, 0.0), last)
    return logical.where(outside, x, place)
