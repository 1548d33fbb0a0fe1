"""The numbers of registrations: what came from one that changes is dropped, and nothing else.

Whatever is made of registrations records those that it looked up, each with its number then, also
such as there were none of. A new, changed or removed registration gets another number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from wgsl_kernels.engine.environment import context

Key = tuple[str, ...]
"""``("kernel", name, backend)``, ``("signature", name)``, ``("gradient", name)`` or
``("backend", name)``."""

Uses = Mapping[Key, int]
"""The registrations that something came from, with their numbers."""

Listener = Callable[[tuple[Key, ...]], None]

_numbers: dict[Key, int] = {}
_listeners: list[Listener] = []
changes = [0]
"""How often a registration has changed, and the number of the last one that did."""
_all_from = [0]  # what is numbered below this is out of date
_lock = threading.Lock()
changing = threading.RLock()
"""Held while a table is changed: each change is one step for readers, who hold nothing, and go
through a copy of a table."""


class _Own(threading.local):
    """What this thread notes its look-ups in."""

    def __init__(self) -> None:
        self.noted: dict[Key, int] | None = None


_own = _Own()


def on_change(listener: Listener) -> None:
    """Call ``listener`` with the registrations that have changed; with none, all may have."""
    _listeners.append(listener)


def announce_change(*keys: Key) -> None:
    """Drop what came from these registrations; without any, what came from whatever one."""
    with _lock:
        number = changes[0] + 1
        for key in keys:
            _numbers[key] = number
        if not keys:
            _all_from[0] = number
        changes[0] = number  # the last: who sees it finds the numbers above
    for listener in _listeners:
        listener(keys)


def number_of(key: Key) -> int:
    """Return the number of a registration, or of its absence."""
    return max(_numbers.get(key, 0), _all_from[0])


def look_up(key: Key) -> None:
    """Note, before it is looked up, that what is being made or captured comes from it."""
    number = number_of(key)
    noted = _own.noted
    if noted is not None:
        noted[key] = number
    watch = context.current().watch
    if watch is not None:
        watch.met({key: number})


@contextmanager
def noting() -> Iterator[dict[Key, int]]:
    """Give a dictionary that fills with what this thread looks up in the block."""
    before, _own.noted = _own.noted, {}
    try:
        yield _own.noted
    finally:
        _own.noted = before


def are_current(uses: Uses) -> bool:
    """Say whether none of these registrations has changed."""
    return all(number_of(key) == number for key, number in uses.items())
