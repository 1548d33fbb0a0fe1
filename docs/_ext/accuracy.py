"""The directive ``accuracy-table``: what `make accuracy` has recorded, function by function."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.accuracy import FUNCTIONS, RECORDED
from library_tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from docutils import nodes
    from sphinx.application import Sphinx


def _rows() -> Iterable[Sequence[str]]:
    """Return a row per function: the largest error seen on each backend, and what is promised."""
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))["functions"]
    for one in FUNCTIONS:
        row = kept[one.name]
        seen = [f"{row[backend]['ulp']:.2f}" for backend in ("cpu", "webgpu")]
        yield one.name, *seen, f"{one.limit:g}", f"{row['points']:,}"


class AccuracyTable(Table):
    """The largest error of each function."""

    head = ("Function", "cpu", "webgpu", "Promised", "Numbers tried")
    rows = staticmethod(_rows)

    def run(self) -> list[nodes.Node]:
        """Return the table, which is made anew where the recording is."""
        self.env.note_dependency(str(RECORDED))
        return super().run()


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("accuracy-table", AccuracyTable)
    return {"parallel_read_safe": True}
