"""Matrix products, and sums of products by subscripts."""

from typing import Any

from benchmarks.items.item import Draw, Item, Work


def _product(draw: Draw, a: tuple[int, ...], b: tuple[int, ...]) -> Work:
    def program(o: Any, a: Any, b: Any) -> Any:
        return o.matmul(a, b)

    return Work({"a": draw.normal(*a), "b": draw.normal(*b)}, program)


def _square(size: int, calls: int) -> Item:
    full = {"a": (size, size), "b": (size, size)}
    tiny = {"a": (8, 12), "b": (12, 16)}
    return Item(f"matmul-{size}", "matrix", _product, full, tiny, calls, large=size > 1024)


def _einsum(draw: Draw, a: tuple[int, ...], b: tuple[int, ...], equation: str) -> Work:
    def program(o: Any, a: Any, b: Any) -> Any:
        return o.einsum(a, b, equation=equation)

    return Work({"a": draw.normal(*a), "b": draw.normal(*b)}, program)


ITEMS = [
    _square(128, 20),
    _square(512, 4),
    _square(1024, 1),
    _square(2048, 1),
    _square(4096, 1),
    Item(
        "matmul-tall",
        "matrix",
        _product,
        full={"a": (16384, 64), "b": (64, 64)},
        tiny={"a": (32, 8), "b": (8, 4)},
        calls=4,
    ),
    Item(
        "matmul-batched",
        "matrix",
        _product,
        full={"a": (32, 128, 64), "b": (32, 64, 128)},
        tiny={"a": (2, 8, 4), "b": (2, 4, 8)},
        calls=4,
    ),
    Item(
        "einsum-heads",
        "matrix",
        _einsum,
        {"a": (4, 256, 8, 64), "b": (4, 256, 8, 64), "equation": "bqhd,bkhd->bhqk"},
        {"a": (2, 3, 2, 4), "b": (2, 5, 2, 4), "equation": "bqhd,bkhd->bhqk"},
        calls=2,
    ),
]
