"""Convolutions, pooling, normalization and resampling of images and volumes, channels last."""

from typing import Any

import numpy as np
from benchmarks.items.item import Draw, Item, Work

Shape = tuple[int, ...]


def _conv2d(draw: Draw, x: Shape, filter: Shape, stride: int = 1) -> Work:
    def program(o: Any, x: Any, filter: Any) -> Any:
        return o.conv2d(x, filter, stride=stride)

    return Work({"x": draw.normal(*x), "filter": draw.normal(*filter)}, program)


def _depthwise(draw: Draw, x: Shape, filter: Shape) -> Work:
    def program(o: Any, x: Any, filter: Any) -> Any:
        return o.depthwise(x, filter, stride=1)

    return Work({"x": draw.normal(*x), "filter": draw.normal(*filter)}, program)


def _max_pool(draw: Draw, x: Shape) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.max_pool(x, size=2)

    return Work({"x": draw.normal(*x)}, program)


def _conv3d(draw: Draw, x: Shape, filter: Shape) -> Work:
    def program(o: Any, x: Any, filter: Any) -> Any:
        return o.conv3d(x, filter)

    return Work({"x": draw.normal(*x), "filter": draw.normal(*filter)}, program)


def _max_pool3d(draw: Draw, x: Shape) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.max_pool3d(x, size=2)

    return Work({"x": draw.normal(*x)}, program)


def _avg_pool3d(draw: Draw, x: Shape) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.avg_pool3d(x, size=2)

    return Work({"x": draw.normal(*x)}, program)


def _batch_norm(draw: Draw, x: Shape) -> Work:
    def program(o: Any, x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
        return o.batch_norm(x, mean, variance, offset, scale)

    channels = x[-1]
    inputs = {
        "x": draw.normal(*x),
        "mean": draw.normal(channels),
        "variance": draw.positive(channels),
        "offset": draw.normal(channels),
        "scale": draw.normal(channels),
    }
    return Work(inputs, program)


def _crop_and_resize(draw: Draw, image: Shape, boxes: int, size: tuple[int, int]) -> Work:
    def program(o: Any, image: Any, boxes: Any, indices: Any) -> Any:
        return o.crop_and_resize(image, boxes, indices, size=list(size))

    inputs = {
        "image": draw.normal(*image),
        "boxes": draw.positive(boxes, 4) - np.float32(0.5),
        "indices": draw.integers(image[0], boxes),
    }
    return Work(inputs, program)


def _transform(draw: Draw, image: Shape) -> Work:
    def program(o: Any, image: Any, numbers: Any) -> Any:
        return o.transform(image, numbers)

    numbers = np.array([[0.8, -0.3, 0.6, 0.3, 0.8, -2.0, 1e-4, 2e-4]], np.float32)
    return Work({"image": draw.normal(*image), "numbers": numbers}, program)


IMAGES: Shape = (8, 56, 56, 64)
SMALL: Shape = (2, 6, 6, 4)
VOLUMES: Shape = (2, 16, 28, 28, 32)
SMALL_VOLUMES: Shape = (1, 4, 4, 6, 4)
ITEMS = [
    Item(
        "conv-3x3",
        "images",
        _conv2d,
        {"x": IMAGES, "filter": (3, 3, 64, 64)},
        {"x": SMALL, "filter": (3, 3, 4, 8)},
        calls=1,
    ),
    Item(
        "conv-1x1",
        "images",
        _conv2d,
        {"x": IMAGES, "filter": (1, 1, 64, 64)},
        {"x": SMALL, "filter": (1, 1, 4, 8)},
        calls=2,
    ),
    Item(
        "conv-depthwise",
        "images",
        _depthwise,
        {"x": IMAGES, "filter": (3, 3, 64, 1)},
        {"x": SMALL, "filter": (3, 3, 4, 1)},
        calls=4,
    ),
    Item(
        "conv-7x7-stride-2",
        "images",
        _conv2d,
        {"x": (1, 224, 224, 3), "filter": (7, 7, 3, 64), "stride": 2},
        {"x": (1, 12, 12, 3), "filter": (7, 7, 3, 4), "stride": 2},
        calls=1,
    ),
    Item("max-pool", "images", _max_pool, {"x": IMAGES}, {"x": SMALL}, calls=4),
    Item(
        "conv-3x3x3",
        "images",
        _conv3d,
        {"x": VOLUMES, "filter": (3, 3, 3, 32, 32)},
        {"x": SMALL_VOLUMES, "filter": (3, 3, 3, 4, 8)},
        calls=1,
    ),
    Item("max-pool-3d", "images", _max_pool3d, {"x": VOLUMES}, {"x": SMALL_VOLUMES}, calls=8),
    Item("avg-pool-3d", "images", _avg_pool3d, {"x": VOLUMES}, {"x": SMALL_VOLUMES}, calls=8),
    Item("batch-norm", "images", _batch_norm, {"x": IMAGES}, {"x": SMALL}, calls=8),
    Item(
        "crop-and-resize",
        "images",
        _crop_and_resize,
        {"image": (8, 256, 256, 16), "boxes": 32, "size": (64, 64)},
        {"image": (2, 5, 7, 3), "boxes": 3, "size": (4, 3)},
        calls=4,
        without={"tinygrad": "has no such op"},
    ),
    Item(
        "transform-image",
        "images",
        _transform,
        {"image": (1, 1024, 1024, 4)},
        {"image": (1, 6, 8, 3)},
        calls=4,
        without={"tinygrad": "has no such op"},
    ),
]
