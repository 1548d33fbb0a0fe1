"""Parts of images, given as boxes, in one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import logical
from wgsl_kernels.ops.images.sampling import (
    METHODS,
    between_dtype,
    check_images,
    check_word,
    places_in_boxes,
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


@public(tfjs="image.cropAndResize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    crop_size: Sequence[int],
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Return parts of images, all in one size.

    The corners of a box are the corners of the part: its elements are at even distances between.
    Boxes may be mirrored, and may reach outside of the image.

    Args:
        image: [images, height, width, channels], real.
        boxes: float32, [boxes, 4]: (y1, x1, y2, x2), 0 being the first row or column, 1 the last.
        box_ind: int32, [boxes], which image each box is of.
        crop_size: The height and width of the parts.
        method: ``"bilinear"`` between the four elements around a place, or ``"nearest"``.
        extrapolation_value: What lies outside of the image.

    Returns:
        [boxes, crop height, crop width, channels], float32.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: ``crop_size`` is not two lengths in [1, 16384], or there is no such method.
        IndexOutOfRange: There is no such image; where ``box_ind`` is on a GPU, raised by the next
            read.

    Example:
        >>> image = tensor([[[[1.0], [2.0]], [[3.0], [4.0]]]])
        >>> crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], (1, 3)).tolist()
        [[[[2.0], [2.5], [3.0]]]]
    """
    return run(
        "CropAndResize",
        image,
        boxes,
        box_ind,
        crop_size=crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
    )


@signature("CropAndResize", floats=("boxes",))
def _crop_and_resize_signature(
    image: Spec,
    boxes: Spec,
    box_ind: Spec,
    /,
    *,
    crop_size: Shape,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Spec:
    del extrapolation_value
    name = "CropAndResize"
    check_images(name, image, crop_size, "crop_size")
    check_word(name, "method", method, METHODS)
    require_dtype(name, "boxes", boxes, "float32")
    require_dtype(name, "box_ind", box_ind, "int32")
    if box_ind.ndim != 1 or boxes.shape != (box_ind.size, 4):
        raise ShapeError(
            f"{name}: boxes has shape {show(boxes.shape)} and box_ind {show(box_ind.shape)}; want "
            "[boxes, 4] and [boxes]."
        )
    shape = (box_ind.size, *crop_size, image.shape[3])
    return image.like(shape=shape, dtype=between_dtype(image.dtype, boxes.dtype))


@cpu_kernel("CropAndResize")
def _crop_and_resize_cpu(
    image: Array,
    boxes: Array,
    box_ind: Array,
    *,
    crop_size: Shape,
    method: str,
    extrapolation_value: float,
) -> Array:
    linear = method == "bilinear"
    given = {"image": image.shape, "box_ind": box_ind.shape}
    check_indices("CropAndResize", "box_ind", box_ind, image.shape[0], given)
    rows, columns = (
        places_in_boxes(boxes[:, at], boxes[:, at + 2], image.shape[1 + at], crop_size[at], linear)
        for at in (0, 1)
    )
    rows = type(rows)(*(one[:, :, np.newaxis] for one in rows))
    columns = type(columns)(*(one[:, np.newaxis, :] for one in columns))
    source = image if image.dtype.kind == "f" else image.astype(rows.share.dtype)
    return sampled(source, box_ind, rows, columns, np.asarray(extrapolation_value), linear)


@wgsl_kernel("CropAndResize")
def _crop_and_resize_webgpu(
    gpu: Gpu,
    image: GpuArray,
    boxes: GpuArray,
    box_ind: GpuArray,
    *,
    crop_size: Shape,
    method: str,
    extrapolation_value: float,
) -> GpuArray:
    shapes_of = {"image": image.shape, "box_ind": box_ind.shape}
    gpu.check_known(
        box_ind,
        lambda values: check_indices("CropAndResize", "box_ind", values, image.shape[0], shapes_of),
    )
    return sampled_on_device(
        gpu,
        {"image": image, "boxes": boxes, "box_ind": box_ind},
        (box_ind.size, *crop_size),
        {"BOXES": True, "LINEAR": method == "bilinear"},
        (extrapolation_value,) * 4,
        {},
        between_dtype(image.dtype, boxes.dtype),
    )


def _places(boxes: Tensor, axis: int, length: int, size: int) -> Tensor:
    """Return the places of a part's elements along an axis, as a gradient needs them."""
    begin, end = boxes[:, axis : axis + 1], boxes[:, axis + 2 : axis + 3]
    if size == 1:
        places = (begin + end) * (0.5 * (length - 1))
    else:
        i = shapes.reshape(ranges.arange(size, dtype=boxes.dtype), (1, size))
        last = float(size - 1)
        places = (begin * (last - i) + end * i) * float(length - 1) / last
    return shapes.expand_dims(places, axis=2 - axis)


@gradient("CropAndResize")
def _crop_and_resize_grad(
    dy: Tensor,
    image: Tensor,
    boxes: Tensor,
    box_ind: Tensor,
    crop_size: Shape,
    method: str,
    extrapolation_value: float,
) -> tuple[object, object, None]:
    shape = image.shape
    first = shapes.reshape(box_ind * shape[1], (-1, 1, 1))

    def around(of_boxes: Tensor) -> list[Neighbour]:
        rows, columns = (
            _places(of_boxes, axis, shape[1 + axis], crop_size[axis]) for axis in (0, 1)
        )
        inside = logical.logical_and(rows >= 0, rows <= shape[1] - 1)
        inside = logical.logical_and(
            inside, logical.logical_and(columns >= 0, columns <= shape[2] - 1)
        )
        return neighbours(rows, columns, first, shape, inside)

    def numbered(numbers: Tensor) -> Tensor:
        one = creation.zeros((box_ind.size,), dtype="int32")
        attrs = {"method": method, "extrapolation_value": -1.0}
        return run("CropAndResize", numbers, boxes, one, crop_size=crop_size, **attrs)

    def of_image() -> Tensor:
        if method == "nearest":
            return nearest_gradient(dy, numbered, shape, first)
        return image_gradient(dy, around(boxes), shape)

    def of_boxes() -> Tensor:
        if method == "nearest":
            return creation.zeros_like(boxes)
        fill = creation.full((), extrapolation_value, dtype=dy.dtype)
        return gradient_through(lambda given: read(image, around(given), fill), boxes, dy)

    return of_image, of_boxes, None
