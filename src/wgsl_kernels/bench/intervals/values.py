"""Values that are made of numbers: lists of their parts, as the simulator has them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals.numbers import Number, convert, where
from wgsl_kernels.simulator import masks

if TYPE_CHECKING:
    from collections.abc import Sequence


def as_kind(kind: str, value: Any) -> Any:
    """Return numbers without a type of their own as that of what they are given to."""
    if isinstance(value, list):
        return [as_kind(kind, one) for one in value]
    return convert(value, kind) if value.kind.startswith("Abstract") else value


written = partial(masks.written, choose=where)


def part_of(value: Sequence[Any], index: Any) -> Any:
    """Return an element; an index beyond is that of the last, one that differs chooses."""
    at = index.v if isinstance(index, Number) else index
    if np.ndim(at) == 0:
        return value[min(max(int(at), 0), len(value) - 1)]
    found = value[0]
    for number, one in enumerate(value[1:], start=1):
        found = written(at == number, one, found)
    return found


def with_part(value: Any, path: Sequence[Any], new: Any, mask: Any) -> Any:
    """Return a value with another part where ``mask`` holds: ``path`` leads to it by indices."""
    indices = [getattr(one, "v", one) for one in path]
    return masks.with_part(value, indices, new, mask, choose=where)


class IntervalCell(masks.Cell):
    """A variable that pointers may point to."""

    __slots__ = ()
    with_part = staticmethod(with_part)


class IntervalPointer(masks.CellPointer):
    """A pointer to a variable of a function, or to a part of it."""

    __slots__ = ()
    part_of = staticmethod(part_of)
