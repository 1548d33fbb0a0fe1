"""A trace as a notebook shows it: a table of steps, those that are marked open."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from wgsl_kernels.testing.stepping.text import Fold, accesses_of, chosen, headed, result_of, valued

if TYPE_CHECKING:
    from wgsl_kernels.testing.stepping.steps import TraceStep
    from wgsl_kernels.testing.stepping.trace import Trace


def html_of(trace: Trace) -> str:
    """Return the trace as HTML: its head, a row per step, what it computed below, to be opened."""
    lead, *rest = headed(trace)
    rows: list[str] = []
    where = ("", "")
    for at in chosen(trace):
        if isinstance(at, Fold):
            rows.append(_row("", "", f"<i>… rounds {at.first} to {at.last} of line {at.line}</i>"))
            continue
        step = trace[at]
        if step.is_own and (step.file, step.function) != where:
            where = step.file, step.function
            rows.append(_row("", "", f"<b>{html.escape(', '.join(where))}</b>"))
        rows.append(_step_row(trace, at, step))
    notes = "".join(f"<div>{html.escape(one)}</div>" for one in rest)
    style = "text-align:left;font-family:monospace;white-space:pre"
    return (
        f"<div><b>{html.escape(lead)}</b>{notes}"
        f'<table style="{style}"><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _step_row(trace: Trace, at: int, step: TraceStep) -> str:
    is_marked = at in (trace.first, trace.worst)
    indent = "  " * (step.depth + len(step.rounds))
    more = [*map(valued, step.values), *accesses_of(step)]
    result = html.escape(result_of(step))
    if is_marked:
        result += f' <b style="color:#b00020">{step.lost:.0f} of 24 bits lost</b>'
    if more:
        inner = "<br>".join(map(html.escape, more))
        is_open = " open" if is_marked else ""
        result = f"<details{is_open}><summary>{result or '…'}</summary>{inner}</details>"
    line = str(step.line) if step.is_own else ""
    text = html.escape(f"{indent}{step.text}") if step.is_own else ""
    return _row(line, text, result, "background:#b0002018" if is_marked else "")


def _row(line: str, text: str, result: str, style: str = "") -> str:
    cells = "".join(f'<td style="text-align:left">{one}</td>' for one in (line, text, result))
    return f'<tr style="{style}">{cells}</tr>'
