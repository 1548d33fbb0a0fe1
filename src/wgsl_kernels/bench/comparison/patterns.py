"""What wrong elements have in common: where they stand, and which inputs they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = np.ndarray[Any, Any]

FEW = 0.1
"""The share of right elements that may be on the wrong side of a limit."""
SPAN = 0.75
"""The share of an axis that wrong elements may span to be said to be somewhere."""


def pattern(wrong: Array, inputs: Sequence[Array], names: Sequence[str]) -> str:
    """Return what wrong elements, and nearly no right ones, have in common; "" if nothing.

    Args:
        wrong: Which elements are wrong.
        inputs: The inputs; those that broadcast to the result are looked at.
        names: What the inputs are called.
    """
    count = int(wrong.sum())
    if count == wrong.size and count > 1:
        return "all elements"
    if count < 2:
        return ""
    found = [*_by_value(wrong, inputs, names), *_by_place(wrong)]
    return f"all {found[0]}" if found else ""


def _by_place(wrong: Array) -> Iterator[str]:
    """Yield the indices of an axis at which all wrong elements are."""
    for axis in reversed(range(wrong.ndim)):
        length = wrong.shape[axis]
        others = tuple(one for one in range(wrong.ndim) if one != axis)
        at = np.flatnonzero(wrong.any(axis=others))
        is_regular = len(at) > 2 and len(np.unique(np.diff(at))) == 1
        if len(at) == length or (at[-1] - at[0] >= length * SPAN and not is_regular):
            continue
        what = {-1: "column", -2: "row"}.get(axis - wrong.ndim, "") if wrong.ndim > 1 else "element"
        first, last, noun = int(at[0]), int(at[-1]), what or f"index of axis {axis}"
        if first == last:
            yield f"in the last {noun}" if last == length - 1 else f"in {noun} {first}"
        elif is_regular and at[1] - at[0] > 1:
            yield f"in every {int(at[1] - at[0])}th {noun} from {first} on"
        elif first > 0 and last == length - 1:
            yield f"from {noun} {first} on"
        elif first == 0:
            yield f"before {noun} {last + 1}"
        else:
            yield f"from {noun} {first} to {last}"


def _by_value(wrong: Array, inputs: Sequence[Array], names: Sequence[str]) -> Iterator[str]:
    """Yield the numbers of an input of which all wrong elements come."""
    for values, name in zip(inputs, names, strict=True):
        if values.dtype.kind not in "iuf" or not wrong.size:
            continue
        try:
            wide = np.broadcast_to(values, wrong.shape).astype(np.float64)
        except ValueError:
            continue
        bad, good = wide[wrong], wide[~wrong]
        if np.isnan(bad).all():
            yield f"where {name} is NaN"
        elif np.isnan(bad).any():
            continue
        elif (bad == bad[0]).all() and not (good == bad[0]).mean() > FEW:
            yield f"where {name} = {bad[0]:g}"
        else:
            yield from _by_limit(bad, good[~np.isnan(good)], name)


def _by_limit(bad: Array, good: Array, name: str) -> Iterator[str]:
    """Yield the limit below or above which all wrong elements come, and nearly no right ones."""
    if not good.size:
        return
    for words, sign, of in (
        ("with {} < {:.3g}", 1.0, np.asarray),
        ("with {} > {:.3g}", -1.0, np.asarray),
        ("with |{}| < {:.3g}", 1.0, np.abs),
        ("with |{}| > {:.3g}", -1.0, np.abs),
    ):
        wrong, right = sign * of(bad), sign * of(good)
        beyond = right[right > wrong.max()]
        if beyond.size and (right <= wrong.max()).mean() <= FEW:
            yield words.format(name, sign * (wrong.max() + beyond.min()) / 2)
            return
