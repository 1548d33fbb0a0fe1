"""One line that says what takes its time, when that is more than a second."""

from __future__ import annotations

import logging
import sys
import threading
import time as clock
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds before it is said, and of quiet after which a new spell begins."""

LONG = 5.0
"""Seconds of one kernel after which it is named, though the line was written for others."""

logger = logging.getLogger("wgsl_kernels")
_ADVICE = {
    "compiling": "wk.warmup(f, ...) does it beforehand, in threads, and later processes find them",
    "measuring": "wgsl-kernels tune does it beforehand, and later processes know",
    "running": "Ctrl-C ends the wait, wk.config.dispatch_timeout limits it",
}


class _Spell:
    """Blocks that follow each other closely: said once, after a second of them.

    Attributes:
        expected: How many kernels are known to be needed in it.
        done: How many of them are there.
        which: The kernels that are waited for now.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.began = 0.0
        self.ended = -PATIENCE
        self.is_said = False
        self.expected = self.done = 0
        self.which = ""

    def count(self, expected: int, done: int) -> None:
        """Count kernels that are needed, and those that are there."""
        with self._lock:
            self.expected += expected
            self.done += done

    def begin(self, now: float) -> float:
        """Return how many seconds are left until it is to be said; forget what was long ago."""
        with self._lock:
            if now - self.ended > PATIENCE:
                self.began, self.is_said = now, False
                self.expected, self.done = max(0, self.expected - self.done), 0
            return self.began + PATIENCE - now

    def say(self, what: str, again: bool = False) -> None:
        """Write the line, once, or ``again`` for one kernel that takes long."""
        with self._lock:
            if self.is_said and not again:
                return
            self.is_said = True
            counted = f"{self.done} of {self.expected} " if self.expected else ""
            which = f" ({self.which})" if self.which else ""
        _write(
            f"wgsl-kernels: {what} {counted}kernels{which}; {_ADVICE[what]}. "
            "wk.config.progress = 'off' hides this line."
        )


_spells = {what: _Spell() for what in _ADVICE}


def count(what: str, expected: int = 0, done: int = 0) -> None:
    """Count kernels that are known to be needed, and those that are there."""
    _spells[what].count(expected, done)


@contextmanager
def busy(what: str, which: str = "") -> Iterator[None]:
    """Say after a second that the block, or several like it in a row, takes its time.

    Args:
        what: ``"compiling"``, ``"measuring"`` or ``"running"``.
        which: The kernels, where they are known.
    """
    if not _is_shown():
        yield
        return
    spell = _spells[what]
    spell.which = which
    left = spell.begin(clock.monotonic())
    timer = None
    if not spell.is_said and left <= 0:
        spell.say(what)
    elif not spell.is_said:
        timer = threading.Timer(left, spell.say, (what,))
    elif which:
        timer = threading.Timer(LONG, spell.say, (what, True))
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        spell.ended = clock.monotonic()


def _is_shown() -> bool:
    wanted = config.value("progress", context.current())
    if wanted != "auto":
        return bool(wanted == "on")
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _write(line: str) -> None:
    logger.debug(line)
    try:
        if "ipykernel" in sys.modules:
            print(line, file=sys.stderr)
        else:
            from rich.console import Console

            Console(stderr=True).print(line, style="dim", highlight=False, soft_wrap=True)
    except Exception:  # a line that cannot be written is no reason to stop
        logger.debug("The line on progress could not be written.", exc_info=True)
