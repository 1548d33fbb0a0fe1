"""The part of a tensor that integers, slices, ellipsis and new axes name: a view in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence


def strided(x: Tensor, entries: Sequence[Any]) -> Tensor:
    """Return the part of ``x`` that basic entries name, ``x`` itself where that is all of it."""
    if all(entry is Ellipsis or _is_whole(entry) for entry in entries):
        return x
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
            strides[place] = 1 if entry.step is None else plain_index(entry.step)
        else:
            begin[place] = plain_index(entry)
            masks["shrink_axis"] |= bit
    named = {f"{name}_mask": bits for name, bits in masks.items()}
    return run("StridedSlice", x, begin=begin, end=end, strides=strides, **named)


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry.start is entry.stop is entry.step is None


def _bound(bound: Any, mask: int, bit: int) -> tuple[int, int]:
    return (0, mask | bit) if bound is None else (plain_index(bound), mask)


def plain_index(entry: Any) -> int:
    """Return an integer of Python, NumPy or a tensor as an int.

    Raises:
        ArgumentError: It is none.
    """
    if isinstance(entry, Tensor):
        entry = entry.numpy()
    try:
        return integer("getitem", "an entry", entry)
    except ArgumentError:
        raise ArgumentError(
            f"getitem: {shown(entry)} is no index; want integers, slices, ..., None, int32 values "
            "or a bool mask."
        ) from None
