"""Sums, maxima and their places, over all elements, over rows and over columns."""

from collections.abc import Iterator
from typing import Any

from benchmarks.items.item import Draw, Item, Work

AXES = {"all": None, "rows": 1, "columns": 0}
"""``rows``: one result per row, so along axis 1; ``columns``: one per column, along axis 0."""


def _reduce(draw: Draw, size: int, op: str, axis: int | None) -> Work:
    def program(o: Any, x: Any) -> Any:
        return getattr(o, op)(x, axis=axis)

    return Work({"x": draw.normal(size, size)}, program)


def _items() -> Iterator[Item]:
    for op in ("sum", "max", "argmax"):
        for over, axis in AXES.items():
            how = {"op": op, "axis": axis}
            full, tiny = {"size": 2048, **how}, {"size": 12, **how}
            yield Item(f"{op}-{over}", "reductions", _reduce, full, tiny)


ITEMS = list(_items())
ITEMS += [
    Item(
        "sum-all-4096",
        "reductions",
        _reduce,
        {"size": 4096, "op": "sum", "axis": None},
        {"size": 16, "op": "sum", "axis": None},
        large=True,
    )
]
