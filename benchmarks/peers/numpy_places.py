"""Images read between their elements, in plain NumPy."""

from collections.abc import Sequence

import numpy as np
from benchmarks.items.item import Array


def crop_and_resize(image: Array, boxes: Array, indices: Array, size: Sequence[int]) -> Array:
    """Return the parts of images that boxes name, all of one size."""
    places = []
    for axis in (0, 1):
        steps = np.linspace(0, 1, size[axis], dtype=np.float32)
        begin, end = boxes[:, axis, None], boxes[:, axis + 2, None]
        places.append((begin + (end - begin) * steps) * np.float32(image.shape[1 + axis] - 1))
    rows, columns = places
    return _between(image, indices, rows[:, :, None], columns[:, None, :])


def transform(image: Array, transforms: Array) -> Array:
    """Return images through projective transforms; outside of them is 0."""
    y = np.arange(image.shape[1], dtype=np.float32)[:, None]
    x = np.arange(image.shape[2], dtype=np.float32)[None, :]
    a0, a1, a2, b0, b1, b2, c0, c1 = transforms.T[:, :, None, None]
    depth = c0 * x + c1 * y + 1
    rows, columns = (b0 * x + b1 * y + b2) / depth, (a0 * x + a1 * y + a2) / depth
    return _between(image, np.arange(len(image)), rows, columns)


def _between(image: Array, indices: Array, rows: Array, columns: Array) -> Array:
    """Return what lies between four elements each; those outside are 0."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = (
        np.clip(one, -1, length) + 1
        for one, length in ((rows, image.shape[1]), (columns, image.shape[2]))
    )
    top = np.minimum(rows.astype(np.int32), image.shape[1])
    left = np.minimum(columns.astype(np.int32), image.shape[2])
    down, across = (rows - top)[..., None], (columns - left)[..., None]
    which = indices[:, None, None]
    upper = padded[which, top, left] * (1 - across) + padded[which, top, left + 1] * across
    lower = padded[which, top + 1, left] * (1 - across) + padded[which, top + 1, left + 1] * across
    y: Array = upper * (1 - down) + lower * down
    return y
