"""Turning a compiler's refusal of composed text into an error about the author's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.lint.sizes import may_be_large, size_remarks
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Place, Text, caret, pointed
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, SourceMap
from wgsl_kernels.wgsl.types.infer import infer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.wgsl.lint.remarks import Remark

_FRAME = re.compile(r"┌─ .*:(\d+):(\d+)[ \t]*$", re.MULTILINE)
_INNER = re.compile(r"^ *(\d+) │ [│╭] .*\n *│ [│ ] ( *)\^", re.MULTILINE)
"""A place marked inside a function that is framed as a whole: its line, and blanks before it."""
_LABEL = re.compile(r"^ *(\d+) │ .*\n *│ +\^+ *\n(?: *│ [│ ]*\n)? *│ ([│ ]+)[^│ \n]", re.MULTILINE)
"""A part that is marked in a line which is framed as a whole: the line, and what is before it."""
_PARSING = re.compile(r"parsing error: (.+)")
_CAUSE = re.compile(r"^ *= (?!note:|help:)(.+)$", re.MULTILINE)
_TAB = 4  # columns that a tab takes in the compiler's frames
_BARE = re.compile(r"(?:^|[\s'\"(])[^\s:]+:(\d+):(\d+)\b")


def explain(
    kernel: str, compiler_text: str, source_map: SourceMap, entry: tuple[Text, Place] | None
) -> ShaderError:
    """Return the error that says where in the author's text a compiler's refusal belongs.

    What our own reader knows comes first, in its words, with what to write; the compiler's own
    words stand below. The error's ``findings`` are all that our reader has to say.

    Args:
        kernel: The kernel's name, which leads the message.
        compiler_text: What the compiler said, kept word for word.
        source_map: The text that it compiled, with its origins.
        entry: Where the author's entry function (or op) stands, for errors without a place.
    """
    found = _place(compiler_text, source_map)
    remarks = diagnose(source_map.composed)
    own = _closest(remarks, source_map, found)
    if own is not None:
        place = source_map.composed.place(own.span.begin)
        found, words, span = (place.line, place.column), own.words, own.span.end - own.span.begin
    else:
        words, span = f"the shader does not compile{_reason(compiler_text)}.", 1
    if found is not None:
        text, place = source_map.origin(*found)
        note = " This line was written by the composer." if place.file == COMPOSED else ""
        note += source_map.context(*found)
    elif entry is not None:
        text, place = entry
        note = " The compiler named no line; this is where the kernel begins."
    else:
        words = f"the shader does not compile{_reason(compiler_text)}."
        return ShaderError(f"{kernel}: {words}{_words(compiler_text)}")
    code = "does-not-compile" if own is None else own.code
    message = f"{kernel}: {pointed(text, place, words + note, span)}{_words(compiler_text)}"
    said = (("compiler", _once(compiler_text)),)
    first = _finding(kernel, code, f"{words}{note}", (text, place), span, said)
    others = [_of_remark(kernel, one, source_map) for one in remarks if one is not own]
    return ShaderError(message, findings=(first, *others))


def refusal(kernel: str, source_map: SourceMap) -> ShaderError | None:
    """Return why no browser takes a text though this compiler does, None where all take it.

    Args:
        kernel: The kernel's name, which leads the message.
        source_map: The text, with its origins.
    """
    composed = source_map.composed
    if not may_be_large(composed.text):
        return None
    module = parse(composed)
    found = [
        _of_remark(kernel, one, source_map)
        for one in size_remarks(module, infer(module.declarations))
    ]
    if not found:
        return None
    first = found[0]
    line = caret(first.source, first.column, first.span)
    message = f"{kernel}: {first.place}: {first.words}\n{line}"
    return ShaderError(message, findings=tuple(found))


def _closest(
    remarks: Sequence[Remark], source_map: SourceMap, found: tuple[int, int] | None
) -> Remark | None:
    """Return what our reader says of the place that the compiler names, else the first of all."""
    if not remarks:
        return None
    composed = source_map.composed
    if found is not None:
        for one in remarks:
            if composed.place(one.span.begin).line == found[0]:
                return one
    return remarks[0]


def _of_remark(kernel: str, one: Remark, source_map: SourceMap) -> Finding:
    place = source_map.composed.place(one.span.begin)
    where = source_map.origin(place.line, place.column)
    return _finding(kernel, one.code, one.words, where, one.span.end - one.span.begin, ())


def _finding(
    kernel: str,
    code: str,
    words: str,
    where: tuple[Text, Place],
    span: int,
    evidence: tuple[tuple[str, str], ...],
) -> Finding:
    text, place = where
    line = text.line(place.line)
    file, at, column = place.file, place.line, place.column
    return Finding(code, words, kernel, file, at, column, span, line, evidence)


def _reason(compiler_text: str) -> str:
    """Return the compiler's own reason behind a colon: what it names last, without its notes."""
    text = _once(compiler_text)
    found = _PARSING.search(text)
    causes = [] if found is not None else _CAUSE.findall(text)
    reason = causes[-1] if causes else "" if found is None else found[1]
    return f": {reason.strip().rstrip('.')}" if reason.strip() else ""


def _place(compiler_text: str, source_map: SourceMap) -> tuple[int, int] | None:
    """Return line and column in the composed text, the innermost place that the compiler marks."""
    inner = _INNER.search(compiler_text) or _LABEL.search(compiler_text)
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


def _once(compiler_text: str) -> str:
    """Return the compiler's words without what they say a second time."""
    return compiler_text.strip().split("\n\n\n")[0].rstrip()


def _words(compiler_text: str) -> str:
    body = "\n".join(f"  {line}".rstrip() for line in _once(compiler_text).splitlines())
    return f"\nThe compiler said, counting lines in the composed text:\n{body}"
