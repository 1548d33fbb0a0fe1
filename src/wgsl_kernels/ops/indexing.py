"""Indexing as Python writes it: ``x[1, 2:5, ..., None, ::-1]``."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.attributes import integer
from wgsl_kernels.engine.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.host import as_array
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor, tensor
from wgsl_kernels.engine.words import shown
from wgsl_kernels.ops import gather

if TYPE_CHECKING:
    from wgsl_kernels.engine.spec import Shape

Index = int | slice | EllipsisType | None | Tensor | np.ndarray | Sequence[Any]


def getitem(x: TensorLike, index: Index | tuple[Index, ...]) -> Tensor:
    """Return the part of ``x`` that ``index`` names; ``x[index]`` calls this.

    Args:
        x: Any tensor.
        index: Per axis an integer, a slice with any step, or int32 values to gather along that
            axis (once); ``...`` stands for all axes left out, ``None`` makes a new axis. The axes
            of gathered values stand where their axis stood.

    Raises:
        IndexOutOfRange: An integer is outside its axis.
        ArgumentError: There are more entries than axes, two lists of integers, or a mask.
    """
    given = as_tensor(x)
    entries = index if isinstance(index, tuple) else (index,)
    _check(entries, given.shape)
    places = [entry for entry in entries if _is_gathered(entry)]
    strided = [slice(None) if _is_gathered(entry) else entry for entry in entries]
    part = _strided(given, strided) if _changes(strided) else given
    if not places:
        return part if part is not given else run("Identity", given)
    axis = _axis_of(entries, given.ndim)
    return gather.take(part, _non_negative(places[0], part.shape[axis]), axis=axis)


def _check(entries: Sequence[Index], shape: Shape) -> None:
    for entry in entries:
        if isinstance(entry, (bool, np.bool_)) or (_is_gathered(entry) and _dtype(entry) == "bool"):
            raise ArgumentError(
                "getitem: a bool mask has a result whose shape its values decide. Use "
                "where(mask, x, other), or the positions of the elements wanted."
            )
        if _is_gathered(entry) and _dtype(entry) != "int32":
            raise DTypeError(f"getitem: an index has dtype {_dtype(entry)}; want int32.")
    if sum(map(_is_gathered, entries)) > 1:
        raise ArgumentError(
            "getitem: two entries are tensors or lists; want one at most. Take one axis after the "
            "other, or flatten the axes and compute the positions."
        )
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise ArgumentError("getitem: the index has two ellipses; want one at most.")
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > len(shape):
        raise ArgumentError(
            f"getitem: the index has {used} entries for axes; the tensor has shape {show(shape)}."
        )


def _is_gathered(entry: Index) -> bool:
    """Say whether an entry is a tensor or a list of positions; an int32 scalar tensor is too."""
    return isinstance(entry, (Tensor, np.ndarray, list))


def _dtype(entry: Any) -> str:
    if isinstance(entry, Tensor):
        return entry.dtype
    values = as_array(entry)
    return "int32" if values.dtype.kind in "iu" or values.size == 0 else values.dtype.name


def _changes(entries: Sequence[Index]) -> bool:
    return any(entry is not Ellipsis and not _is_whole(entry) for entry in entries)


def _is_whole(entry: Index) -> bool:
    return isinstance(entry, slice) and entry.start is entry.stop is entry.step is None


def _strided(x: Tensor, entries: Sequence[Index]) -> Tensor:
    """Return the part that integers, slices, ellipsis and new axes name, in one kernel run."""
    begin, end, strides = [0] * len(entries), [0] * len(entries), [1] * len(entries)
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    for place, entry in enumerate(entries):
        bit = 1 << place
        if entry is None:
            masks["new_axis"] |= bit
        elif entry is Ellipsis:
            masks["ellipsis"] |= bit
        elif isinstance(entry, slice):
            begin[place], masks["begin"] = _bound(entry.start, masks["begin"], bit)
            end[place], masks["end"] = _bound(entry.stop, masks["end"], bit)
            strides[place] = 1 if entry.step is None else _integer(entry.step)
        else:
            begin[place] = _integer(entry)
            masks["shrink_axis"] |= bit
    named = {f"{name}_mask": bits for name, bits in masks.items()}
    return run("StridedSlice", x, begin=begin, end=end, strides=strides, **named)


def _bound(bound: Any, mask: int, bit: int) -> tuple[int, int]:
    return (0, mask | bit) if bound is None else (_integer(bound), mask)


def _integer(entry: Any) -> int:
    if isinstance(entry, Tensor):
        entry = entry.numpy()
    try:
        return integer("getitem", "an entry", entry)
    except ArgumentError:
        raise ArgumentError(
            f"getitem: {shown(entry)} is no index; want integers, slices, ..., None, or int32 "
            "values."
        ) from None


def _axis_of(entries: Sequence[Index], ndim: int) -> int:
    """Return where the gathered axis stands once integers and new axes are applied."""
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    axis = 0
    for entry in entries:
        if _is_gathered(entry):
            break
        if entry is Ellipsis:
            axis += ndim - used
        elif entry is None or isinstance(entry, slice):
            axis += 1
    return axis


def _non_negative(places: Any, length: int) -> Tensor:
    """Return positions as an int32 tensor; on the host, negative ones count from the end."""
    if isinstance(places, Tensor):
        return places
    values = np.asarray(places, dtype=np.int32)
    return tensor(np.where(values < 0, values + length, values), dtype="int32")
