"""Tables as notebooks show them."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def html_table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table with a line above it; what is in its cells is text, whatever it holds."""
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    names = "".join(f"<th>{html.escape(one)}</th>" for one in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{above}<tr>{names}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value:,}</td>'
    text = "" if value is None else html.escape(str(value)).replace("\n", "<br>")
    return f'<td style="text-align:left">{text}</td>'
