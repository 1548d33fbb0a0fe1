"""Raising an interrupt at any line of Python that a call comes to, one line at a time."""

from __future__ import annotations

import dis
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.modes import ALL_MODES

from wgsl_kernels.backends.webgpu.devices import lifetime
from wgsl_kernels.engine.environment import context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from wgsl_kernels.backends.webgpu.devices.device import Device

LOAD_CONST = dis.opmap["LOAD_CONST"]
NOP = dis.opmap["NOP"]
ARRANGING = frozenset(dis.opmap[name] for name in ("NOP", "POP_TOP", "SWAP"))
"""What stands before the three constants where a `with` is left by `return`."""
SAMPLED = 20
"""Lines of one call that are tried, unless all are."""


def lines_of(f: Callable[[], object]) -> int:
    """Return how many lines of Python a call comes to."""
    with _Tracer(0) as tracer:
        f()
    return tracer.seen


def chosen(lines: int, most: int | None = None) -> list[int]:
    """Return the numbers of the lines to try: all of them, or some that lie evenly.

    Args:
        lines: How many there are.
        most: About how many are tried where all would take hours.
    """
    step = max(1, lines // (most or lines)) if ALL_MODES else max(1, lines // SAMPLED)
    return list(range(1, lines + 1, step))


def interrupted(f: Callable[[], object], line: int) -> str:
    """Call ``f``, raise an interrupt at a line, and return where; empty if it came to no such one.

    The interrupt may be lost only in a finalizer, where Python forgets it.
    """
    before = context.current()
    tracer = _Tracer(line)
    with _unraisable():
        try:
            with tracer:
                f()
        except KeyboardInterrupt as error:
            error.__traceback__ = None  # which would hold what belongs to the call
    assert context.current() is before, tracer.place
    assert not _held_devices(), f"{tracer.place}: left the lock of a device held"
    return tracer.place


def _held_devices() -> list[Device]:
    """Return the devices whose locks this thread holds; every other thread would wait for ever."""
    locks: list[tuple[Device, Any]] = [(one, one.lock) for one in lifetime.watched()]
    return [device for device, lock in locks if lock._is_owned()]


class _Tracer:
    """Counts the lines that this thread comes to, and raises at one of them."""

    def __init__(self, line: int) -> None:
        self.seen = 0
        self.place = ""
        self._line = line

    def __enter__(self) -> _Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "line" and frame.f_code.co_filename != __file__ and not _leaves(frame):
            self.seen += 1
            if self.seen == self._line:
                code = frame.f_code
                self.place = f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
                raise KeyboardInterrupt
        return self._trace


def _leaves(frame: FrameType) -> bool:
    """Say whether the line is that of a `with` which is left now, or a ``try`` alone.

    Its code is three times None and the call of ``__exit__``, after a value to return was put
    aside; that of a ``try`` does nothing, and a `with` around it does not cover it. Python looks
    for signals in none of these, so that an interrupt cannot come between: a lock would stay held.
    """
    code, at = frame.f_code, frame.f_lasti
    if code.co_code[at] == NOP:
        return True
    while at < len(code.co_code) and code.co_code[at] in ARRANGING:
        at += 2
    pairs = [code.co_code[one : one + 2] for one in (at, at + 2, at + 4)]
    return all(
        len(one) == 2 and one[0] == LOAD_CONST and code.co_consts[one[1]] is None for one in pairs
    )


@contextmanager
def _unraisable() -> Iterator[None]:
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


def in_other_thread(f: Callable[[], Any]) -> Any:
    """Return what ``f`` gives in another thread, which must not wait for this one for ever."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(f()), daemon=True)
    thread.start()
    thread.join(60)
    assert found, "the other thread waits for ever, or failed"
    return found[0]
