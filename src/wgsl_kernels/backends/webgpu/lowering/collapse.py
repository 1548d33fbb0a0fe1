"""Fewer axes for the same walk over memory: what makes a strided map or reduction cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Strides = tuple[int, ...]


def collapse(
    shape: Sequence[int], strides: Sequence[Sequence[int]], kept: int | None = None
) -> tuple[tuple[int, ...], tuple[Strides, ...], int]:
    """Return ``shape`` and each tensor's strides with neighbouring axes merged where all allow it.

    Axes of size 1 go; two axes merge where, in every tensor, the outer stride is the inner
    stride times the inner size. The order of the elements stays.

    Args:
        shape: The iteration's sizes.
        strides: For every strided tensor its strides in that iteration, 0 where broadcast.
        kept: Of a reduction, how many leading axes are kept; kept and reduced never merge.

    Returns:
        The shape, the strides of each tensor, and how many of the axes are kept (all, for a map).

    Example:
        >>> collapse((4, 1, 5, 6), [(30, 0, 6, 1), (0, 0, 6, 1)])
        ((4, 30), ((30, 1), (0, 1)), 2)
    """
    split = len(shape) if kept is None else kept
    sizes: list[int] = []
    columns: list[tuple[int, ...]] = []
    kept_axes = 0
    for axis, size in enumerate(shape):
        column = tuple(one[axis] for one in strides)
        if axis == split:
            kept_axes = len(sizes)
        if size == 1:
            continue
        starts_anew = axis >= split and len(sizes) == kept_axes
        if sizes and not starts_anew and _follows(columns[-1], column, size):
            sizes[-1] *= size
            columns[-1] = column
        else:
            sizes.append(size)
            columns.append(column)
    if split >= len(shape):
        kept_axes = len(sizes)
    merged = tuple(tuple(column[tensor] for column in columns) for tensor in range(len(strides)))
    return tuple(sizes), merged, kept_axes


def _follows(outer: tuple[int, ...], inner: tuple[int, ...], size: int) -> bool:
    return all(o == i * size for o, i in zip(outer, inner, strict=True))
