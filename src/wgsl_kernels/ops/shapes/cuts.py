"""Cuts: which elements of each axis a slice takes, worked out once for all who need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, IndexOutOfRange
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape

Masks = tuple[int, ...]
"""The bit masks begin, end, ellipsis, new axis and shrink axis of a strided slice."""


@dataclass(frozen=True)
class Cut:
    """Per axis: the first position taken, the step to the next, and how many are taken."""

    begin: tuple[int, ...]
    strides: tuple[int, ...]
    lengths: Shape

    @classmethod
    def along(cls, shape: Shape, axis: int, begin: int, length: int) -> Cut:
        """Return the cut that takes ``length`` positions of one axis, and all of the others."""
        ndim = len(shape)
        return cls(
            tuple(begin if index == axis else 0 for index in range(ndim)),
            (1,) * ndim,
            (*shape[:axis], length, *shape[axis + 1 :]),
        )

    def of(self, x: Array) -> Array:
        """Return the elements taken of a NumPy array, as a view."""
        found = []
        for begin, step, length in zip(self.begin, self.strides, self.lengths, strict=True):
            end = begin + length * step
            found.append(slice(begin, end if end >= 0 else None, step))
        return x[(*found, ...)]


def strided_cut(
    shape: Shape,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    masks: Masks,
) -> tuple[Cut, Shape]:
    """Return what ``StridedSlice`` takes of each axis, and the shape of its output.

    Raises:
        ArgumentError: The entries do not fit each other or the axes.
        IndexOutOfRange: ``begin`` of a shrunk axis is outside it.
    """
    if strides is None:
        strides = (1,) * len(begin)
    if not len(begin) == len(end) == len(strides):
        raise ArgumentError(
            f"StridedSlice: begin is {show(begin)}, end {show(end)} and strides {show(strides)}; "
            "want as many entries in each."
        )
    taken: list[tuple[int, int, int]] = []
    y_shape: list[int] = []
    for entry in _entries(len(shape), len(begin), masks):
        if entry is _NEW_AXIS:
            y_shape.append(1)
            continue
        length = shape[len(taken)]
        if entry is _WHOLE:
            taken.append((0, 1, length))
            y_shape.append(length)
            continue
        ends = (
            None if masks[0] >> entry & 1 else begin[entry],
            None if masks[1] >> entry & 1 else end[entry],
        )
        if masks[4] >> entry & 1:
            taken.append(_position(shape, len(taken), begin[entry], strides[entry], ends[0]))
        else:
            taken.append(_stretch(length, ends, strides[entry], entry))
            y_shape.append(taken[-1][2])
    columns = tuple(zip(*taken, strict=True)) or ((), (), ())
    return Cut(*columns), tuple(y_shape)


_NEW_AXIS = -1
_WHOLE = -2


def _entries(ndim: int, count: int, masks: Masks) -> list[int]:
    """Return per axis of input and output the entry that rules it, or that it is new or whole."""
    *_, ellipsis, new, _ = masks
    rest = [entry for entry in range(count) if ellipsis >> entry & 1]
    if len(rest) > 1:
        raise ArgumentError(
            f"StridedSlice: ellipsis_mask is {ellipsis}; want at most one entry to be an ellipsis."
        )
    is_new = [bool(new >> entry & 1) and entry not in rest for entry in range(count)]
    used = count - sum(is_new) - len(rest)
    if used > ndim:
        raise ArgumentError(f"StridedSlice: {used} entries for axes, but x has rank {ndim}.")
    whole = [_WHOLE] * (ndim - used)
    found: list[int] = []
    for entry in range(count):
        found += whole if entry in rest else [_NEW_AXIS if is_new[entry] else entry]
    return found if rest else found + whole


def _position(
    shape: Shape, axis: int, begin: int, step: int, start: int | None
) -> tuple[int, int, int]:
    """Return the cut of an axis of which one position is taken."""
    if step <= 0:
        raise ArgumentError(
            f"StridedSlice: strides is {step} for an axis that shrinks; want it above 0."
        )
    length = shape[axis]
    place = 0 if start is None else begin
    if not -length <= place < length:
        raise IndexOutOfRange(
            f"StridedSlice: index {place} is outside axis {axis} of x, which has shape "
            f"{show(shape)}; want it in [{-length}, {length})."
        )
    return place % length, 1, 1


def _stretch(
    length: int, ends: tuple[int | None, int | None], step: int, entry: int
) -> tuple[int, int, int]:
    """Return the cut of an axis from one end to the other, as Python's slices have it."""
    if step == 0:
        raise ArgumentError(f"StridedSlice: strides[{entry}] is 0; want another step.")
    taken = range(length)[slice(*ends, step)]
    return taken.start if len(taken) else 0, taken.step, len(taken)
