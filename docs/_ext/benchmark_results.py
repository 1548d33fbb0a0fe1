"""What is kept in ``benchmarks/results``: ``benchmark-results``, and one picture of it.

The pictures are drawn when the pages are built; nothing is measured then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import plots, results, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

PICTURES = "_plots"
"""The folder below the pages that the pictures are drawn into; git ignores it."""


class BenchmarkResults(SphinxDirective):
    """``{benchmark-results}``: a section for each adapter that has results."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return targets, pictures and times, adapter by adapter."""
        found = []
        for path in sorted(results.RESULTS.glob("*.json")):
            self.env.note_dependency(str(path))
            kept = results.load(path)
            if kept.get("items"):
                found += self.parse_text_to_nodes(
                    _page(kept, path, Path(self.env.srcdir)), allow_section_headings=True
                )
        return found


class BenchmarkPicture(SphinxDirective):
    """``{benchmark-picture}``: the summary of the first adapter that has results."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        for path in sorted(results.RESULTS.glob("*.json")):
            self.env.note_dependency(str(path))
            kept = results.load(path)
            drawn = plots.draw_summary(kept, Path(self.env.srcdir) / PICTURES, path.stem)
            if drawn is not None:
                words = f"On {results.in_words(kept['adapter'])}; a step to the right is a factor."
                figure = f"```{{figure}} /{PICTURES}/{drawn.name}\n{words}\n```"
                return self.parse_text_to_nodes(figure)
        return []


def _page(kept: results.Results, path: Path, pages: Path) -> str:
    pictures = plots.draw(kept, pages / PICTURES, path.stem)
    drawn = [f"```{{figure}} /{PICTURES}/{file.name}\n{words}\n```" for file, words in pictures]
    parts = table.markdown(kept).split(table.PICTURES_HERE)
    return "\n\n".join([f"## {results.short_name(kept['adapter'])}", parts[0], *drawn, parts[1]])


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("benchmark-picture", BenchmarkPicture)
    app.add_directive("benchmark-results", BenchmarkResults)
    return {"parallel_read_safe": True}
