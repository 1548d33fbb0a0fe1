"""Explaining: which dispatches a function makes, what is in each, and why it was cut there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.engine.observe.profile import profile
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.observe.profile import DispatchRow


@dataclass(frozen=True)
class Explanation:
    """What `explain` saw; print it.

    Attributes:
        dispatches: A row per dispatch, in order, with its kernels, why it was made then, and the
            program that it belongs to: its texts, grids, bindings and configuration.
        kernel_runs: How many kernels ran.
        result: What the function returned.
    """

    dispatches: tuple[DispatchRow, ...]
    kernel_runs: int
    result: Any

    def __str__(self) -> str:
        count = len(self.dispatches)
        noun = "dispatch" if count == 1 else "dispatches"
        lines = [f"{count} {noun} for {self.kernel_runs} kernel runs"]
        width = max((len(row.label) for row in self.dispatches), default=0)
        for number, row in enumerate(self.dispatches, start=1):
            why = row.cause or "it is eager"
            lines.append(f"{number:>4}  {row.label:<{width}}  {why}")
            if row.dispatch is not None:
                lines += [f"      {one}" for one in row.dispatch.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row per dispatch, what its kernels say of it below."""
        rows = [
            (
                number,
                row.label,
                row.cause or "it is eager",
                "" if row.dispatch is None else "\n".join(row.dispatch.notes),
            )
            for number, row in enumerate(self.dispatches, start=1)
        ]
        return html_table(("", "kernels", "why then", ""), rows, str(self).partition("\n")[0])

    def show(self) -> str:
        """Return also what ran: grids, bindings, and the shaders' lines with their origins."""
        lines = [str(self)]
        program: Any = None
        for number, row in enumerate(self.dispatches, start=1):
            if row.dispatch is None:
                continue
            lines.append(f"\n# dispatch {number}, {row.cause or 'eager'}")
            if row.program is not program:
                lines.append(str(row.program).partition("\n1. ")[0])
            program = row.program
            lines.append(row.dispatch.show())
        return "\n".join(lines)


def explain(f: Callable[[], Any]) -> Explanation:
    """Run ``f``, force its work, and return which dispatches that took and why.

    Deferred kernels are fused with others; each dispatch says what ended its group. In
    ``config.fusion = "auto"`` a structure is fused from its second run on, so call ``f`` once
    before, or set ``"always"`` for a block.

    Args:
        f: Takes nothing.

    Returns:
        What prints, for ``lambda: wk.sum(wk.square(x))``, as::

            1 dispatch for 2 kernel runs
               1  Square + Sum  it is evaluated
    """
    function("explain", "f", f)
    seen = profile(f)
    return Explanation(tuple(seen.dispatches), len(seen.kernels), seen.result)
