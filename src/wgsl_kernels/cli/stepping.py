"""What ``wgsl-kernels step`` shows in a terminal: the steps, and keys to go to and fro."""

from __future__ import annotations

import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from wgsl_kernels.testing.stepping.text import Fold, accesses_of, chosen, headed, lines_of, valued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from wgsl_kernels.testing.stepping.trace import Trace

KEYS = "right, n: forwards   left, p: backwards   f: first   w: worst   g, G: begin, end   q: leave"
_FORWARDS, _BACKWARDS = ("right", "down", "n", "j", " ", "\r"), ("left", "up", "p", "k")
_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_ESCAPE_SECONDS = 0.05
_DETAILS = 9
"""Lines for what the current step computed."""


class Browser:
    """Where one is in a trace.

    Attributes:
        trace: The trace.
        steps: The steps that one goes through, by number.
        at: Which of them is shown.
    """

    def __init__(self, trace: Trace, *, whole: bool = False) -> None:
        self.trace = trace
        self.lines = lines_of(trace, whole=whole)
        self.steps = [one for one in chosen(trace, whole=whole) if not isinstance(one, Fold)]
        self.at = self._nearest(trace.first) if trace.first is not None else 0

    def press(self, key: str) -> bool:
        """Go where a key leads; say whether one stays."""
        last = max(len(self.steps) - 1, 0)
        if key in _FORWARDS:
            self.at = min(self.at + 1, last)
        elif key in _BACKWARDS:
            self.at = max(self.at - 1, 0)
        elif key in ("f", "w"):
            mark = self.trace.first if key == "f" else self.trace.worst
            self.at = self.at if mark is None else self._nearest(mark)
        elif key in ("g", "G"):
            self.at = last if key == "G" else 0
        return key not in ("q", "\x03", "\x1b")

    def _nearest(self, step: int) -> int:
        return min(range(len(self.steps)), key=lambda at: abs(self.steps[at] - step), default=0)

    def shown(self, height: int, width: int) -> Group:
        """Return what the terminal shows: the head, lines around the step, what it computed."""
        head = headed(self.trace)
        current = self.steps[self.at] if self.steps else -1
        rows = max(height - len(head) - _DETAILS - 4, 3)
        here = next((n for n, one in enumerate(self.lines) if one.step == current), 0)
        begin = max(0, min(here - rows // 2, len(self.lines) - rows))
        parts = [Text(one[:width], style="bold" if not n else "") for n, one in enumerate(head)]
        parts.append(Text(""))
        for one in self.lines[begin : begin + rows]:
            style = "red" if one.is_marked else "" if one.step is not None else "dim"
            is_here = one.step is not None and one.step == current
            lead = "> " if is_here else "  "
            parts.append(
                Text(f"{lead}{one.text}"[:width], style=f"{style} reverse" if is_here else style)
            )
        parts.append(Text("─" * width, style="dim"))
        parts += [Text(one[:width]) for one in self._details(current)[:_DETAILS]]
        return Group(*parts, Text(KEYS[:width], style="dim"))

    def _details(self, current: int) -> list[str]:
        if current < 0:
            return ["There are no steps."]
        step = self.trace[current]
        rounds = ", ".join(f"round {number} of line {line}" for line, number in step.rounds)
        where = f"{step.place}, step {current + 1} of {len(self.trace)}"
        lead = ", ".join(one for one in (where, rounds, step.context) if one)
        results = [] if step.result is None else [valued(step.result)]
        return [lead, *results, *map(valued, step.values), *accesses_of(step)]


def browse(to: Console, trace: Trace, *, whole: bool = False) -> None:
    """Show a trace in a terminal until one leaves."""
    browser = Browser(trace, whole=whole)
    with _keys() as key, Live(console=to, screen=True, auto_refresh=False) as live:
        while True:
            live.update(browser.shown(to.height, to.width), refresh=True)
            if not browser.press(key()):
                return


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Have a block be given each key as it is pressed, by name where it is an arrow."""
    if os.name == "nt":
        import msvcrt

        arrows = {"H": "up", "P": "down", "M": "right", "K": "left"}

        def pressed() -> str:
            key = msvcrt.getwch()  # type: ignore[attr-defined]  # of Windows alone
            return arrows.get(msvcrt.getwch(), "") if key in "\x00\xe0" else key  # type: ignore[attr-defined]  # likewise

        yield pressed
        return
    import termios
    import tty

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number)
    try:
        yield lambda: _read(number)
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _read(number: int) -> str:
    """Return the next key; an escape that nothing follows at once is itself one."""
    first = os.read(number, 1).decode(errors="replace")
    if first != "\x1b" or not select.select([number], [], [], _ESCAPE_SECONDS)[0]:
        return first or "q"
    return _ARROWS.get(os.read(number, 2).decode(errors="replace")[-1:], "")
