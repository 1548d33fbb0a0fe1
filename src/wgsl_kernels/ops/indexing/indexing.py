"""Indexing as Python and NumPy write it: ``x[1, 2:5, ..., None, ::-1]``, ``x[rows, columns]``."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.indexing.selecting import Positions, select
from wgsl_kernels.ops.shapes.strided_index import strided

if TYPE_CHECKING:
    from typing import Any

    from wgsl_kernels.engine.values.spec import Shape

Index = int | slice | EllipsisType | None | Tensor | np.ndarray | Sequence["Any"]
_ARRAYS = (Tensor, np.ndarray, list, tuple)
"""What holds positions, or is a mask."""


def getitem(x: TensorLike, index: Index | tuple[Index, ...]) -> Tensor:
    """Return the part of ``x`` that ``index`` names, as NumPy does; ``x[index]`` calls this.

    Args:
        x: Any tensor.
        index: Per axis an integer, a slice with any step, or int32 values to gather along that
            axis; several of these broadcast against each other. A bool mask stands for as many
            axes as it has and selects where it is true; it is read to know how many these are. One
            of no axes, alone, takes the whole as one row, or none.
            ``...`` stands for all axes left out, ``None`` makes a new axis. Negative integers
            count from the end.

    Raises:
        IndexOutOfRange: An integer is outside its axis; where indices are on a GPU, raised by the
            next read.
        ShapeError: A mask has another shape than the axes that it stands for, or indices do not
            broadcast against each other.
        ArgumentError: There are more entries than axes.
    """
    given = as_tensor(x)
    entries = index if isinstance(index, tuple) else (index,)
    if len(entries) == 1 and _is_scalar_mask(entries[0]):
        row = run("ExpandDims", given, dim=0)
        return select(row, [Positions(_as_row(entries[0])), *[slice(None)] * given.ndim])
    if any(isinstance(entry, _ARRAYS) for entry in entries):
        found = [Positions(entry) if isinstance(entry, _ARRAYS) else entry for entry in entries]
        used = sum(one.axes for one in found if isinstance(one, Positions))
        used += sum(isinstance(one, slice) or _is_integer(one) for one in found)
        _check(entries, given.shape, used)
        return select(given, _without_ellipsis(found, given.ndim - used))
    _check(entries, given.shape, sum(one is not None and one is not Ellipsis for one in entries))
    part = strided(given, entries)
    return part if part is not given else run("Identity", given)


def _is_scalar_mask(entry: Any) -> bool:
    """Say whether an entry is a mask of no axes, which takes the whole or nothing."""
    return isinstance(entry, (Tensor, np.ndarray)) and not entry.shape and entry.dtype == "bool"


def _as_row(mask: Any) -> Any:
    return run("ExpandDims", mask, dim=0) if isinstance(mask, Tensor) else mask[np.newaxis]


def _is_integer(entry: Any) -> bool:
    return not (entry is None or entry is Ellipsis or isinstance(entry, (slice, Positions)))


def _check(entries: Sequence[Any], shape: Shape, used: int) -> None:
    for entry in entries:
        if isinstance(entry, (bool, np.bool_)):
            raise ArgumentError(
                f"getitem: {entry} is no index; want a bool mask of the shape of the axes that it "
                "stands for, or None for a new axis."
            )
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise ArgumentError("getitem: the index has two ellipses; want one at most.")
    if used > len(shape):
        raise ArgumentError(
            f"getitem: the index has {used} entries for axes; the tensor has shape {show(shape)}."
        )


def _without_ellipsis(entries: list[Any], left: int) -> list[Any]:
    """Return the entries with whole slices for the axes that none is given for."""
    whole: list[Any] = [slice(None)] * left
    for place, entry in enumerate(entries):
        if entry is Ellipsis:
            # one of no axis still parts the positions around it
            return [*entries[:place], *(whole or [entry]), *entries[place + 1 :]]
    return [*entries, *whole]
