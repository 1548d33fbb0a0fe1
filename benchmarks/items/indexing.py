"""Rows by index, running sums, the largest of a row, Fourier transforms."""

from typing import Any

from benchmarks.items.item import Draw, Item, Work


def _gather(draw: Draw, rows: int, columns: int, count: int) -> Work:
    def program(o: Any, x: Any, indices: Any) -> Any:
        return o.take(x, indices)

    return Work({"x": draw.normal(rows, columns), "indices": draw.integers(rows, count)}, program)


def _scatter_add(draw: Draw, rows: int, columns: int, count: int) -> Work:
    def program(o: Any, updates: Any, indices: Any) -> Any:
        return o.scatter_add(updates, indices, rows=rows)

    inputs = {"updates": draw.normal(count, columns), "indices": draw.integers(rows, count)}
    return Work(inputs, program)


def _cumulative_sum(draw: Draw, size: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.cumulative_sum(x)

    return Work({"x": draw.normal(size)}, program)


def _topk(draw: Draw, rows: int, columns: int, k: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.topk(x, k=k)

    return Work({"x": draw.normal(rows, columns)}, program)


def _fft(draw: Draw, rows: int, columns: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.fft(x)

    return Work({"x": draw.complex(rows, columns)}, program)


TINY_ROWS = {"rows": 9, "columns": 4, "count": 12}
ITEMS = [
    Item(
        "gather-rows",
        "indexing",
        _gather,
        {"rows": 50_000, "columns": 256, "count": 10_000},
        TINY_ROWS,
        calls=4,
    ),
    Item(
        "scatter-add-rows",
        "indexing",
        _scatter_add,
        {"rows": 5_000, "columns": 256, "count": 10_000},
        TINY_ROWS,
        calls=4,
        without={"tinygrad": "its scatter compares every row with every index"},
    ),
    Item("cumulative-sum", "indexing", _cumulative_sum, {"size": 1 << 20}, {"size": 20}, calls=4),
    Item(
        "top-10",
        "indexing",
        _topk,
        {"rows": 1024, "columns": 1024, "k": 10},
        {"rows": 3, "columns": 16, "k": 10},
        calls=4,
    ),
    Item(
        "fft",
        "indexing",
        _fft,
        {"rows": 64, "columns": 1024},
        {"rows": 2, "columns": 16},
        calls=4,
        without={"tinygrad": "has no complex numbers"},
    ),
]
