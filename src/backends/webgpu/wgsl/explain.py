"""Turning a compiler's refusal of composed text into an error about the author's text."""

from __future__ import annotations

import re

from wgsl_kernels.backends.webgpu.wgsl.parser import parse
from wgsl_kernels.backends.webgpu.wgsl.places import Place, Text, caret
from wgsl_kernels.backends.webgpu.wgsl.resolve import resolve
from wgsl_kernels.backends.webgpu.wgsl.source_map import COMPOSED, SourceMap
from wgsl_kernels.engine.errors import ShaderError

_FRAME = re.compile(r"┌─ .*:(\d+):(\d+)[ \t]*$", re.MULTILINE)
_INNER = re.compile(r"^ *(\d+) │ [│╭] .*\n *│ [│ ] ( *)\^", re.MULTILINE)
"""A place marked inside a function that is framed as a whole: its line, and blanks before it."""
_TAB = 4  # columns that a tab takes in the compiler's frames
_BARE = re.compile(r"(?:^|[\s'\"(])[^\s:]+:(\d+):(\d+)\b")


def explain(
    kernel: str, compiler_text: str, source_map: SourceMap, entry: tuple[Text, Place] | None
) -> ShaderError:
    """Return the error that says where in the author's text a compiler's refusal belongs.

    Args:
        kernel: The kernel's name, which leads the message.
        compiler_text: What the compiler said, kept word for word.
        source_map: The text that it compiled, with its origins.
        entry: Where the author's entry function (or op) stands, for errors without a place.
    """
    found = _place(compiler_text, source_map)
    if found is not None:
        text, place = source_map.origin(*found)
        note = " This line was written by the composer." if place.file == COMPOSED else ""
        note += source_map.context(*found)
        return _error(kernel, text, place, note, _hint(source_map, found) + _words(compiler_text))
    if entry is not None:
        note = " The compiler named no line; this is where the kernel begins."
        return _error(kernel, *entry, note, _hint(source_map, None) + _words(compiler_text))
    return ShaderError(f"{kernel}: the shader does not compile.{_words(compiler_text)}")


def _place(compiler_text: str, source_map: SourceMap) -> tuple[int, int] | None:
    """Return line and column in the composed text, the innermost place that the compiler marks."""
    inner = _INNER.search(compiler_text)
    if inner is not None:
        line = int(inner.group(1))
        return line, _column(source_map.composed.line(line), len(inner.group(2)))
    match = _FRAME.search(compiler_text) or _BARE.search(compiler_text)
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def _column(line: str, blanks: int) -> int:
    """Return the column of the character that is shown behind so many blanks."""
    shown = 0
    for index, character in enumerate(line):
        if shown >= blanks:
            return index + 1
        shown += _TAB - shown % _TAB if character == "\t" else 1
    return len(line) + 1


def _hint(source_map: SourceMap, found: tuple[int, int] | None) -> str:
    """Return what our own parser and names have to say about the place, or nothing.

    A syntax error may show a line earlier there than the compiler found it; a name must stand at
    the very place, lest one that we do not know draws eyes from the compiler's own reason.
    """
    composed = source_map.composed
    for problem in parse(composed).problems:
        place = composed.place(problem.begin)
        if found is None or 0 <= found[0] - place.line <= 1:
            _, place = source_map.origin(place.line, place.column)
            return f"\nHint: {place.label}: {problem.message}"
    if found is not None:
        begin = composed.offset(*found)
        for problem in resolve(composed).problems(begin=begin):
            return f"\nHint: {problem.message}"
    return ""


def _error(kernel: str, text: Text, place: Place, note: str, rest: str) -> ShaderError:
    line = caret(text.line(place.line), place.column)
    return ShaderError(f"{kernel}: {place.label}: the shader does not compile.{note}\n{line}{rest}")


def _words(compiler_text: str) -> str:
    body = "\n".join(f"  {line}".rstrip() for line in compiler_text.strip().splitlines())
    return f"\nThe compiler said, counting lines in the composed text:\n{body}"
