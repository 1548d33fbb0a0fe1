"""A document that an editor has open: its text, its WGSL, and places as editors count them."""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from lsprotocol import types as lsp

from wgsl_kernels.backends.webgpu.modules.files import shaders_folder
from wgsl_kernels.lsp.embedded import Shader, shaders_in

_LANGUAGES = {".wgsl": "wgsl", ".wesl": "wesl", ".py": "python"}
_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@dataclass(frozen=True)
class Document:
    """One document as it is now.

    Attributes:
        uri: What the editor calls it.
        path: Its file.
        text: What it holds; line ends are single newlines.
        encoding: In what the editor counts columns: the units of utf-8, utf-16 or utf-32.
        language: What it is, as the editor or its name says: wgsl, wesl or python.
    """

    uri: str
    path: Path
    text: str = field(repr=False)
    encoding: str = "utf-16"
    language: str = ""

    @property
    def is_shader(self) -> bool:
        """Whether it is WGSL as a whole."""
        return self.language in ("wgsl", "wesl")

    @functools.cached_property
    def shaders(self) -> list[Shader]:
        if self.is_shader:
            return [Shader(self.text, 0, len(self.text), is_inline=False)]
        return shaders_in(self.text) if self.language == "python" else []

    def shader_at(self, offset: int) -> Shader | None:
        """Return the WGSL around a place."""
        return next((one for one in self.shaders if one.begin <= offset <= one.end), None)

    @functools.cached_property
    def _starts(self) -> list[int]:
        lengths = (len(line) + 1 for line in self.text.split("\n")[:-1])
        return list(accumulate(lengths, initial=0))

    def _line(self, number: int) -> str:
        begin = self._starts[number]
        end = self.text.find("\n", begin)
        return self.text[begin:] if end < 0 else self.text[begin:end]

    def offset(self, position: lsp.Position) -> int:
        """Return the offset of a place; one behind the end of a line is that end."""
        number = min(max(position.line, 0), len(self._starts) - 1)
        left = position.character
        at = self._starts[number]
        for letter in self._line(number):
            left -= self._units(letter)
            if left < 0:
                break
            at += 1
        return at

    def position(self, offset: int) -> lsp.Position:
        offset = min(max(offset, 0), len(self.text))
        number = bisect.bisect_right(self._starts, offset) - 1
        return lsp.Position(number, self._units(self.text[self._starts[number] : offset]))

    def range(self, begin: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(begin), self.position(end))

    def place(self, line: int, column: int) -> int:
        """Return the offset of a line and a column that count from 1, in characters."""
        number = min(max(line, 1), len(self._starts)) - 1
        return min(self._starts[number] + max(column, 1) - 1, len(self.text))

    def _units(self, text: str) -> int:
        encoded = text.encode(f"{self.encoding}-le".replace("8-le", "8"), "surrogatepass")
        return len(encoded) // (_BYTES[self.encoding])


def document(
    uri: str, path: str, text: str, encoding: str = "utf-16", language: str | None = None
) -> Document:
    """Return a document with the text that an editor has."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    known = _LANGUAGES.get(Path(path).suffix, language or "")
    return Document(uri, Path(path), plain, encoding, known)


def saved(path: Path, encoding: str) -> Document:
    """Return the document of a file as it is saved; an empty one where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return document(path.as_uri(), str(path), text, encoding)


def path_of(label: str, beside: Path) -> Path:
    """Return the file that findings and texts name so; one of the package by its place there."""
    ours = shaders_folder() / label
    return ours if ours.is_file() else beside / label
