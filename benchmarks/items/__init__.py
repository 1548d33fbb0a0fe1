"""The items of the benchmark, a module per family: one definition, every peer's program from it."""

import re

from benchmarks.items import (
    graphs,
    host,
    images,
    indexing,
    maps,
    matrix,
    models,
    reductions,
    rows,
    training,
    transfers,
)
from benchmarks.items.item import Item

FAMILIES = (matrix, maps, reductions, rows, images, indexing, transfers, training, models)
ITEMS: dict[str, Item] = {item.name: item for family in FAMILIES for item in family.ITEMS}
GRAPHS: dict[str, Item] = {item.name: item for item in graphs.ITEMS}
"""Models of ONNX, which have peers and a table of their own."""
HOST: dict[str, Item] = {item.name: item for item in host.ITEMS}
"""Of ours alone: `benchmarks.compare` has them, the table has not."""


def named(name: str) -> Item:
    """Return the item of a name."""
    return (ITEMS | GRAPHS | HOST)[name]


def chosen(pattern: str, *, large: bool) -> list[Item]:
    """Return the items whose name holds ``pattern``, a regular expression, in the table's order."""
    wanted = re.compile(pattern)
    every = (*ITEMS.values(), *GRAPHS.values())
    return [one for one in every if wanted.search(one.name) and (large or not one.large)]
