"""Indexing by positions: lists and tensors of integers, and bool masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import BYTES, INTEGERS
from wgsl_kernels.engine.values.host import Array, as_array
from wgsl_kernels.engine.values.shapes import broadcast_shapes, show
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.indexing import counting, gather
from wgsl_kernels.ops.shapes import joining
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.ops.shapes.strided_index import plain_index, strided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.spec import Shape


class Positions:
    """An entry of an index that names positions: integers of an axis, or a mask of several.

    Attributes:
        values: A tensor, or an array on the host.
        is_mask: Whether they are bools.
        axes: How many axes it stands for.
    """

    def __init__(self, entry: Any) -> None:
        found: Tensor | Array = entry if isinstance(entry, Tensor) else as_array(entry)
        name = str(found.dtype)
        if isinstance(found, np.ndarray) and name != "bool":
            name = "int32" if found.dtype.kind in "iu" or not found.size else name
        if name != "bool" and name not in INTEGERS:
            raise DTypeError(f"getitem: an index has dtype {name}; want int32 or bool.")
        is_narrow = isinstance(found, Tensor) and name in BYTES
        self.values = cast.astype(found, "int32") if is_narrow else found
        self.is_mask = name == "bool"
        self.axes = found.ndim if self.is_mask else 1
        if not self.axes:
            raise ArgumentError(
                "getitem: a bool mask is a scalar; want one of the shape of the axes that it "
                "stands for."
            )


def select(x: Tensor, entries: Sequence[Any]) -> Tensor:
    """Return what an index with positions in it names.

    Args:
        x: Any tensor.
        entries: One for each axis, masks for several, and None for new ones; an ellipsis stands
            for no axis, but parts the positions around it.
    """
    adjacent = _adjacent(entries)
    entries = [one for one in entries if one is not Ellipsis]
    named = [one for one in entries if isinstance(one, Positions)]
    integers = [one for one in entries if _is_integer(one)]
    if len(named) == 1 and (
        not integers or not (named[0].is_mask or named[0].values.ndim) or adjacent
    ):
        return _along_one(x, entries, named[0])
    return _along_several(x, entries, adjacent=adjacent)


def _is_integer(entry: Any) -> bool:
    return not (entry is None or entry is Ellipsis or isinstance(entry, (slice, Positions)))


def _is_advanced(entry: Any) -> bool:
    return isinstance(entry, Positions) or _is_integer(entry)


def _adjacent(entries: Sequence[Any]) -> bool:
    """Say whether no slice, ellipsis or new axis is between entries that name positions."""
    at = [place for place, entry in enumerate(entries) if _is_advanced(entry)]
    return at[-1] - at[0] == len(at) - 1


def _along_one(x: Tensor, entries: Sequence[Any], named: Positions) -> Tensor:
    """Return slices along the one axis, or the axes of the one mask, that positions name."""
    start = 0
    for one in entries:
        if one is named:
            break
        start += 0 if one is None else 1
    shape = x.shape[start : start + named.axes]
    at = sum(one is None or isinstance(one, slice) for one in entries[: entries.index(named)])
    basic: list[Any] = []
    for one in entries:
        basic += [slice(None)] * named.axes if one is named else [one]
    part = strided(x, basic)
    if not named.is_mask:
        found = named.values
        return gather.take(
            part, found if isinstance(found, Tensor) else tensor(found, dtype="int32"), at
        )
    _check_mask(named.values, shape)
    rest = part.shape[at + named.axes :]
    flat = shapes.reshape(part, (*part.shape[:at], int(np.prod(shape)), *rest))
    return gather.take(flat, _true_places(named.values), at)


def _along_several(x: Tensor, entries: Sequence[Any], *, adjacent: bool) -> Tensor:
    """Return the elements or slices that positions of several axes name together."""
    indices: list[Tensor | Array] = []
    basic: list[Any] = []
    axes: list[int] = []
    kept = start = 0
    for entry in entries:
        if not _is_advanced(entry):
            basic.append(entry)
            kept += 1
            start += entry is not None
            continue
        found = _positions_of(entry, x.shape[start:])
        for one in found:
            indices.append(one)
            axes.append(kept)
            basic.append(slice(None))
            kept += 1
            start += 1
    part = strided(x, basic)
    others = [axis for axis in range(part.ndim) if axis not in axes]
    front = shapes.permute_dims(part, (*axes, *others))
    joined = _joined(indices)
    chosen = run("GatherNd", front, joined, wrap_negative_indices=True)
    if not adjacent:
        return chosen
    count = joined.ndim - 1
    before = axes[0]
    order = (*range(count, count + before), *range(count), *range(count + before, chosen.ndim))
    return chosen if not before else shapes.permute_dims(chosen, order)


def _positions_of(entry: Any, shape: Shape) -> Sequence[Tensor | Array]:
    """Return an entry's integers, for a mask those of each axis."""
    if not isinstance(entry, Positions):
        return [np.asarray(plain_index(entry))]
    values = entry.values
    if entry.is_mask:
        _check_mask(values, shape[: entry.axes])
        return counting.nonzero(values) if isinstance(values, Tensor) else np.nonzero(values)
    return [values]


def _check_mask(values: Tensor | Array, shape: Shape) -> None:
    if tuple(values.shape) != tuple(shape):
        raise ShapeError(
            f"getitem: a bool mask has shape {show(values.shape)}; want {show(shape)}, that of the "
            "axes that it stands for."
        )


def _true_places(mask: Tensor | Array) -> Tensor:
    if isinstance(mask, Tensor):
        return counting.nonzero(shapes.reshape(mask, (-1,)))[0]
    return tensor(np.flatnonzero(mask), dtype="int32")


def _joined(indices: Sequence[Tensor | Array]) -> Tensor:
    """Return rows of indices, broadcast against each other: [..., how many]."""
    common = broadcast_shapes(*(tuple(one.shape) for one in indices))
    if common is None:
        given = ", ".join(show(one.shape) for one in indices)
        raise ShapeError(f"getitem: indices do not broadcast against each other: {given}.")
    if not any(isinstance(one, Tensor) for one in indices):
        return tensor(
            np.stack([np.broadcast_to(one, common) for one in indices], -1), dtype="int32"
        )
    wide = [
        shapes.broadcast_to(one if isinstance(one, Tensor) else tensor(one, dtype="int32"), common)
        for one in indices
    ]
    return joining.stack(wide, -1)
