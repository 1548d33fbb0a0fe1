"""Whole networks, run forwards: one like MobileNet, and a transformer."""

from typing import Any

import numpy as np
from benchmarks.items.item import Array, Draw, Item, Work

BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5
BLOCKS += [(1024, 2), (1024, 1)]
"""Channels and stride of each block. Source: Howard et al., MobileNets, 2017, table 1."""


def _mobilenet(draw: Draw, side: int, divide: int, blocks: int, classes: int) -> Work:
    """Return MobileNet with a ``divide``-th of the channels and its first ``blocks`` blocks."""
    plan = [(channels // divide, stride) for channels, stride in BLOCKS[:blocks]]
    inputs: dict[str, Array] = {"x": draw.normal(1, side, side, 3)}

    def normalization(name: str, channels: int) -> None:
        inputs[f"{name}_mean"] = draw.normal(channels, scale=0.1)
        inputs[f"{name}_variance"] = draw.positive(channels)
        inputs[f"{name}_offset"] = draw.normal(channels, scale=0.1)
        inputs[f"{name}_scale"] = draw.positive(channels)

    def weights(*shape: int) -> Array:
        return draw.normal(*shape, scale=float(2 / np.prod(shape[:-1])) ** 0.5)

    last = 32 // divide
    inputs["first_filter"] = weights(3, 3, 3, last)
    normalization("first", last)
    for i, (channels, _) in enumerate(plan):
        inputs[f"deep{i}_filter"] = draw.normal(3, 3, last, 1, scale=0.5)
        normalization(f"deep{i}", last)
        inputs[f"wide{i}_filter"] = weights(1, 1, last, channels)
        normalization(f"wide{i}", channels)
        last = channels
    inputs["w"], inputs["b"] = weights(last, classes), draw.normal(classes)

    def program(o: Any, x: Any, w: Any, b: Any, **own: Any) -> Any:
        def activated(name: str, x: Any) -> Any:
            parts = ("mean", "variance", "offset", "scale")
            return o.relu6(o.batch_norm(x, *(own[f"{name}_{part}"] for part in parts)))

        x = activated("first", o.conv2d(x, own["first_filter"], stride=2))
        for i, (_, stride) in enumerate(plan):
            x = activated(f"deep{i}", o.depthwise(x, own[f"deep{i}_filter"], stride=stride))
            x = activated(f"wide{i}", o.conv2d(x, own[f"wide{i}_filter"], stride=1))
        return o.softmax(o.add(o.matmul(o.mean(x, axis=(1, 2)), w), b))

    return Work(inputs, program)


def _transformer(draw: Draw, layers: int, width: int, heads: int, length: int) -> Work:
    """Return an encoder: attention and a hidden layer of four times the width, in each layer."""
    shapes = {
        "query": (width, width),
        "key": (width, width),
        "value": (width, width),
        "out": (width, width),
        "up": (width, 4 * width),
        "down": (4 * width, width),
    }
    inputs = {"x": draw.normal(length, width)}
    for i in range(layers):
        for name, shape in shapes.items():
            inputs[f"{name}{i}"] = draw.normal(*shape, scale=shape[0] ** -0.5)
            inputs[f"{name}{i}_bias"] = draw.normal(shape[1], scale=0.1)
        for name in ("before", "after"):
            inputs[f"{name}{i}_scale"] = draw.positive(width)
            inputs[f"{name}{i}_offset"] = draw.normal(width, scale=0.1)
    each = width // heads

    def program(o: Any, x: Any, **own: Any) -> Any:
        def dense(name: str, x: Any) -> Any:
            return o.add(o.matmul(x, own[name]), own[f"{name}_bias"])

        def normalized(name: str, x: Any) -> Any:
            return o.layer_norm(x, own[f"{name}_scale"], own[f"{name}_offset"])

        def by_head(x: Any, axes: tuple[int, int, int]) -> Any:
            return o.transpose(o.reshape(x, shape=(length, heads, each)), axes=axes)

        for i in range(layers):
            h = normalized(f"before{i}", x)
            query = by_head(dense(f"query{i}", h), (1, 0, 2))
            key = by_head(dense(f"key{i}", h), (1, 2, 0))
            value = by_head(dense(f"value{i}", h), (1, 0, 2))
            weight = o.softmax(o.multiply(o.matmul(query, key), each**-0.5))
            seen = o.transpose(o.matmul(weight, value), axes=(1, 0, 2))
            x = o.add(x, dense(f"out{i}", o.reshape(seen, shape=(length, width))))
            h = o.gelu(dense(f"up{i}", normalized(f"after{i}", x)))
            x = o.add(x, dense(f"down{i}", h))
        return x

    return Work(inputs, program)


NOT_RAW = {"limit": "nobody wrote a whole network in raw WGSL"}
ITEMS = [
    Item(
        "mobilenet",
        "models",
        _mobilenet,
        {"side": 128, "divide": 2, "blocks": 13, "classes": 1000},
        {"side": 8, "divide": 8, "blocks": 2, "classes": 5},
        calls=1,
        without={"tinygrad": "it compiles for a minute", **NOT_RAW},
    ),
    Item(
        "transformer",
        "models",
        _transformer,
        {"layers": 6, "width": 384, "heads": 12, "length": 128},
        {"layers": 1, "width": 8, "heads": 2, "length": 4},
        calls=1,
        without=NOT_RAW,
    ),
]
