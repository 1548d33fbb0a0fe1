"""The picture of the packages: ``floors``, drawn from the layers that import-linter checks.

The first contract of layers in ``pyproject.toml`` is the house, a row for each of its floors. The
contracts of layers of other containers are the packages inside.
"""

from __future__ import annotations

import html
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sphinx.application import Sphinx

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

WIDTH = 380
"""A narrow screen has about so many pixels, so that the words are read there as they stand."""
LETTER = 7.3
"""At most the width of a letter of 12 pixels in the fonts that are asked for."""
PAD, GAP, LINE, HEAD = 8.0, 6.0, 17.0, 26.0
"""Around words, between boxes, from one line of words to the next, above the boxes of a floor."""

Layers = tuple[tuple[str, ...], ...]
"""Names of packages, highest first; those of one layer together."""


@dataclass(frozen=True)
class House:
    """What import-linter is asked to hold.

    Attributes:
        floors: The layers of the whole package.
        inside: The layers of packages, by their names.
    """

    floors: Layers
    inside: Mapping[str, Layers]


@dataclass(frozen=True)
class _Box:
    """A box of names in the picture; ``lines`` holds what is written in each line of it."""

    x: float
    y: float
    width: float
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        return LINE * len(self.lines) + PAD

    def draw(self) -> Iterator[str]:
        """Yield its elements."""
        yield _rectangle(self.x, self.y, self.width, self.height, 0.1)
        for number, line in enumerate(self.lines):
            yield _text(self.x + PAD, self.y + LINE * (number + 1) - 0.5, line)


def house(settings: Mapping[str, Any]) -> House:
    """Return the floors that a ``pyproject.toml`` declares, and the packages inside of each."""
    tool = settings["tool"]["importlinter"]
    root = tool["root_package"]
    found: dict[str, Layers] = {}
    for one in tool["contracts"]:
        if one["type"] == "layers":
            for container in one["containers"]:
                name = container.removeprefix(root).removeprefix(".")
                found[name] = tuple(tuple(re.findall(r"[\w.]+", layer)) for layer in one["layers"])
    return House(found.pop(""), found)


def picture(floors: House) -> str:
    """Return the floors as SVG, drawn in the colour of the text around it."""
    y = 1.0
    drawn: list[str] = []
    for floor in floors.floors:
        height = 0.0
        shares = list(_shares(floor))
        for name, x, width in shares:
            boxes = _boxes(floors.inside.get(name, ()), x + PAD, y + HEAD, width - 2 * PAD)
            bottom = max((box.y + box.height for box in boxes), default=y + HEAD - PAD)
            height = max(height, bottom + PAD - y)
            drawn.append(_text(x + PAD, y + 17, name, is_bold=True))
            drawn += [part for box in boxes for part in box.draw()]
        drawn += [_rectangle(x, y, width, height, 0.04) for _, x, width in shares]
        y += height + GAP
    words = "; ".join(", ".join(floor) for floor in floors.floors)
    return (
        f'<svg class="wk-floors" role="img" aria-label="Floors, highest first: {words}" '
        f'viewBox="0 0 {WIDTH} {y:g}" xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )


def _shares(floor: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """Yield the packages of a floor with where each begins and its width; the last has the rest."""
    x = 1.0
    for name in floor[:-1]:
        width = len(name) * LETTER + 2 * PAD
        yield name, x, width
        x += width + GAP
    yield floor[-1], x, WIDTH - 1 - x


def _boxes(layers: Layers, left: float, top: float, width: float) -> list[_Box]:
    """Return a box for each layer, one behind the other and in as many rows as that takes."""
    found: list[_Box] = []
    x, y, below = left, top, top
    for layer in layers:
        lines = _lines(layer, width - 2 * PAD)
        wide = max(len(line) for line in lines) * LETTER + 2 * PAD
        if x > left and x + wide > left + width:
            x, y = left, below
        box = _Box(x, y, wide, lines)
        found.append(box)
        below = max(below, y + box.height + GAP)
        x += wide + GAP
    return found


def _lines(layer: Sequence[str], width: float) -> tuple[str, ...]:
    """Return the names of a layer with dots between, in lines of at most ``width``."""
    found = [layer[0]]
    for name in layer[1:]:
        longer = f"{found[-1]} · {name}"
        if len(f"{longer} ·") * LETTER <= width:
            found[-1] = longer
        else:
            found[-1] += " ·"
            found.append(name)
    return tuple(found)


def _rectangle(x: float, y: float, width: float, height: float, opacity: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" '
        f'fill="currentColor" fill-opacity="{opacity}" stroke="currentColor" '
        'stroke-opacity="0.5"/>'
    )


def _text(x: float, y: float, words: str, *, is_bold: bool = False) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="Consolas, Menlo, monospace" font-size="12" '
        f'fill="currentColor"{weight}>{html.escape(words)}</text>'
    )


class Floors(SphinxDirective):
    """``{floors}``: the packages, each above those that it may import."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        self.env.note_dependency(str(PROJECT))
        drawn = picture(house(tomllib.loads(PROJECT.read_text(encoding="utf-8"))))
        return [nodes.raw("", drawn, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("floors", Floors)
    return {"parallel_read_safe": True}
