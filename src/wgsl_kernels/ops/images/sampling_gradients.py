"""Gradients of images read at places: of the images, and of what the places follow from.

An element read between four others is the sum of these by their weights. So the gradient of the
images is a sum over segments, and that of the places one of the weights; both are made of public
ops, and can be differentiated again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.engine.autodiff.autodiff import GradientTape
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import OBJECTS
from wgsl_kernels.ops.elementwise import binary, cast, logical, unary
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.shapes import joining, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.values.spec import Shape


class Neighbour(NamedTuple):
    """One of the four elements around each place: its number among all, or -1, and its weight."""

    number: Tensor
    weight: Tensor


def neighbours(
    rows: Tensor, columns: Tensor, first: Tensor, shape: Shape, inside: Tensor
) -> list[Neighbour]:
    """Return the four elements around each place.

    Args:
        rows: Places along the height, [images, height, 1 or width].
        columns: Places along the width, [images, 1 or height, width].
        first: int32, the number of the first row of the image each is taken from, [images, 1, 1].
        shape: The shape of the images that places lie in, [count, height, width, channels].
        inside: Which places count.
    """
    _, height, width, _ = shape
    above, left = unary.floor(rows), unary.floor(columns)
    down, across = rows - above, columns - left
    found: list[Neighbour] = []
    for row, of_row in ((above, 1 - down), (above + 1, down)):
        for column, of_column in ((left, 1 - across), (left + 1, across)):
            within = logical.logical_and(
                logical.logical_and(row >= 0, row < height),
                logical.logical_and(column >= 0, column < width),
            )
            number = (first + cast.astype(row, "int32")) * width + cast.astype(column, "int32")
            number = logical.where(logical.logical_and(inside, within), number, -1)
            found.append(Neighbour(number, of_row * of_column))
    return found


def image_gradient(dy: Tensor, around: list[Neighbour], shape: Shape) -> Tensor:
    """Return the gradient of images of ``shape`` that elements were read from."""
    count, height, width, channels = shape
    parts = [dy * shapes.expand_dims(cast.astype(one.weight, dy.dtype), axis=3) for one in around]
    rows = joining.concat([shapes.reshape(one, (-1, channels)) for one in parts])
    numbers = joining.concat([shapes.reshape(one.number, (-1,)) for one in around])
    total = segment.unsorted_segment_sum(rows, numbers, num_segments=count * height * width)
    return shapes.reshape(total, shape)


def read(image: Tensor, around: list[Neighbour], fill: Tensor) -> Tensor:
    """Return images read from four elements each, from ``fill`` outside."""
    rows = shapes.reshape(image, (math.prod(image.shape[:3]), image.shape[3]))
    total: Tensor | None = None
    for one in around:
        number = shapes.expand_dims(one.number, axis=3)
        values = gather.take(rows, binary.maximum(one.number, 0))
        part = logical.where(number < 0, fill, values)
        part = part * shapes.expand_dims(cast.astype(one.weight, part.dtype), axis=3)
        total = part if total is None else total + part
    assert total is not None
    return total


def nearest_gradient(
    dy: Tensor, numbered: Callable[[Tensor], Tensor], shape: Shape, first: Tensor
) -> Tensor:
    """Return the gradient of images whose nearest elements were read.

    Args:
        dy: The upstream gradient.
        numbered: Reads an image [1, height, width, 2] at the same places for each image of ``dy``,
            -1 outside; given the numbers of rows and columns it tells where elements came from.
        shape: The images' shape.
        first: As `neighbours` has it.
    """
    count, height, width, channels = shape
    places = numbered(coordinates(height, width, dy.dtype))
    row, column = places[..., 0], places[..., 1]
    number = (first + cast.astype(row, "int32")) * width + cast.astype(column, "int32")
    number = logical.where(row < 0, -1, number)
    rows = shapes.reshape(dy, (-1, channels))
    ids = shapes.reshape(number, (-1,))
    total = segment.unsorted_segment_sum(rows, ids, num_segments=count * height * width)
    return shapes.reshape(total, shape)


def coordinates(height: int, width: int, dtype: str) -> Tensor:
    """Return an image [1, height, width, 2] of its own rows and columns."""
    wide = OBJECTS["float64" if dtype == "float64" else "float32"]
    row = shapes.reshape(ranges.arange(height, dtype=wide), (1, height, 1, 1))
    column = shapes.reshape(ranges.arange(width, dtype=wide), (1, 1, width, 1))
    whole = (1, height, width, 1)
    parts = [shapes.broadcast_to(one, whole) for one in (row, column)]
    return joining.concat(parts, axis=3)


def gradient_through(f: Callable[[Tensor], Tensor], x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of ``x`` by what ``f`` is composed of."""
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = tape.gradient(y, x, cast.astype(dy, y.dtype))
    assert isinstance(found, Tensor)
    return found
