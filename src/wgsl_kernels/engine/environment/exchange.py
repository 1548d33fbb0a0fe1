"""Changing several things at once: all of them or none, whatever comes in between.

Python raises an interrupt, and lets another thread go on, between two of its own instructions and
never inside a function that is written in C. So what belongs together is changed by one call of
such a function; see decisions/0025.
"""

from __future__ import annotations

from collections import deque
from itertools import starmap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Change = tuple[object, str, Any]
"""Whose attribute, its name, and its new value."""


def exchange(changes: Sequence[Change]) -> None:
    """Set attributes: all of them, or none if this is interrupted before."""
    before = [getattr(one, name) for one, name, _ in changes]  # their ends may run lines of Python
    deque(starmap(setattr, changes), maxlen=0)
    del before
