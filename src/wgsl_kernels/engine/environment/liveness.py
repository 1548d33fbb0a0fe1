"""Who else holds an object: the one place that asks for reference counts.

The promise: what anybody else holds is never called unheld. It may be called held though nobody
will look at it again (by a frame, a cycle that was not collected yet); that costs a write or a copy
and changes no value. How many references a question itself adds differs between versions of Python,
so each is asked once of an object whose holders are known.

An object is passed as an attribute or an item, never as a local name, of which newer versions of
Python may pass a reference that is not counted.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def held_outside(objects: list[Any], own: list[int]) -> list[bool]:
    """Return for each object whether it has holders besides this list and as many as ``own``."""
    found: list[bool] = []
    for n in range(len(objects)):
        found.append(getrefcount(objects[n]) > _ITEM + own[n])
    return found


def is_shared(one: object, own: int) -> bool:
    """Say whether an object has holders besides ``own`` ones that the caller knows."""
    return getrefcount(one) > _ARGUMENT + own


class Marker:
    """Counts its holders: those who keep `token`, which nothing but them refers to."""

    def __init__(self) -> None:
        self.token: object = object()
        self._own = getrefcount(self.token)

    @property
    def holders(self) -> int:
        return getrefcount(self.token) - self._own


_ITEM = _ARGUMENT = 0
_ITEM = next(n for n in range(16) if not held_outside([object()], [n])[0])
_marker = Marker()
_ARGUMENT = next(n for n in range(16) if not is_shared(_marker.token, n)) - 1
