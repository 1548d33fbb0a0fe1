"""Models of ONNX, which ONNX Runtime runs too: ten of an operator each, and eleven networks.

The peers here read a file of ONNX, and no others take part. Inputs are arrays of NumPy and so are
results: a call has their way to the device and back in it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.items.item import Draw, Item, Work

PEERS = ("ort-cpu", "ours-cpu", "ours", "ort")
"""Who takes part; the first one's results are the reference."""
ROUNDS = 5
INPUTS = {"matmul": ("x", "y"), "add": ("x", "y"), "attention": ("query", "key", "value")}
"""Of the operators with more than one."""
LIGHT = {
    "alexnet": "data_0",
    "densenet121": "data_0",
    "inception-v1": "data_0",
    "inception-v2": "data_0",
    "resnet50": "gpu_0/data_0",
    "shufflenet": "gpu_0/data_0",
    "squeezenet": "data_0",
    "vgg19": "data_0",
    "zfnet512": "gpu_0/data_0",
}
"""The input of each of ONNX's light models, an image of 224 by 224."""

Shapes = Mapping[str, tuple[int, ...]]


def _work(draw: Draw, shapes: Shapes, name: str, make: Callable[[Draw], Any]) -> Work:
    """Return the work of a model whose file is written when a peer first asks for it."""

    def program() -> Path:
        from benchmarks.graphs.files import kept

        return kept(name, lambda: make(Draw(f"{name}'s weights")))

    return Work({one: draw.normal(*shape) for one, shape in shapes.items()}, program, "graph")


def _operator(draw: Draw, op: str, shape: tuple[int, ...]) -> Work:
    inputs = dict.fromkeys(INPUTS.get(op, ("x",)), shape)

    def make(own: Draw) -> Any:
        from benchmarks.graphs.operators import operator

        return operator(own, op, inputs)

    return _work(draw, inputs, "-".join((op, *map(str, shape))), make)


def _encoder(draw: Draw, **sizes: int) -> Work:
    def make(own: Draw) -> Any:
        from benchmarks.graphs.networks import encoder

        return encoder(own, **sizes)

    name = "-".join(("encoder", *map(str, sizes.values())))
    return _work(draw, {"x": (1, sizes["length"], sizes["width"])}, name, make)


def _mobilenet(draw: Draw, **sizes: int) -> Work:
    def make(own: Draw) -> Any:
        from benchmarks.graphs.networks import mobilenet

        return mobilenet(own, **sizes)

    name = "-".join(("mobilenet", *map(str, sizes.values())))
    return _work(draw, {"x": (1, 3, sizes["side"], sizes["side"])}, name, make)


def _light(draw: Draw, name: str) -> Work:
    def make(own: Draw) -> Any:
        from benchmarks.graphs.light import NAMES, light

        return light(own, NAMES[name])

    return _work(draw, {LIGHT[name]: (1, 3, 224, 224)}, name, make)


def _item(
    name: str,
    build: Callable[..., Work],
    full: Mapping[str, Any],
    tiny: Mapping[str, Any],
    calls: int = 1,
) -> Item:
    return Item(
        f"onnx-{name}", "graphs", build, full, tiny, calls=calls, rounds=ROUNDS, peers=PEERS
    )


def _of_operator(
    op: str, shape: tuple[int, ...], tiny: tuple[int, ...], *, name: str = "", calls: int = 4
) -> Item:
    full, small = {"op": op, "shape": shape}, {"op": op, "shape": tiny}
    return _item(name or op, _operator, full, small, calls)


SQUARE, IMAGES, HEADS = (1024, 1024), (8, 64, 56, 56), (1, 12, 512, 64)
SMALL, SMALL_IMAGES, SMALL_HEADS = (6, 6), (2, 4, 5, 6), (1, 2, 5, 4)
ITEMS = [
    _of_operator("matmul", (512, 512), SMALL, name="matmul-512"),
    _of_operator("matmul", SQUARE, SMALL, name="matmul-1024", calls=1),
    _of_operator("conv", IMAGES, SMALL_IMAGES, calls=1),
    _of_operator("depthwise", IMAGES, SMALL_IMAGES),
    _of_operator("softmax", SQUARE, SMALL),
    _of_operator("layer-norm", SQUARE, SMALL),
    _of_operator("gelu", SQUARE, SMALL),
    _of_operator("attention", HEADS, SMALL_HEADS),
    _of_operator("add", SQUARE, SMALL),
    _of_operator("reduce-sum", SQUARE, SMALL),
    _item(
        "encoder",
        _encoder,
        {"layers": 6, "width": 384, "heads": 12, "length": 128},
        {"layers": 1, "width": 8, "heads": 2, "length": 4},
    ),
    _item(
        "mobilenet",
        _mobilenet,
        {"side": 224, "divide": 1, "blocks": 13, "classes": 1000},
        {"side": 8, "divide": 8, "blocks": 2, "classes": 5},
    ),
    *(_item(name, _light, {"name": name}, {"name": name}) for name in LIGHT),
]
