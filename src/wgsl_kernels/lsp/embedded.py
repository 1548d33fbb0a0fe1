"""WGSL in Python files: which strings hold it, and where each of their characters stands."""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.backends.webgpu.modules.files import is_wgsl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARK = re.compile(r"#\s*wgsl\b", re.IGNORECASE)
_PREFIX = re.compile(r"[A-Za-z]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"\n": "\n", "n": "\v", "r": "\v", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
"""What escapes stand for; a line ends by what is a line's end to WGSL and to nobody else."""
_SHADER_METHODS = frozenset({"dispatch", "map", "scan", "window", "configure"})
"""Those of ``gpu`` that are given a shader first."""
_BLANK = frozenset({tokenize.NL, tokenize.COMMENT})
_STARTS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, *_BLANK})
Literal: TypeAlias = "tuple[tokenize.TokenInfo, ...]"
"""Strings that follow one another, which are one."""


@dataclass(frozen=True)
class Shader:
    """The WGSL of a file, or of a string in a Python file.

    Attributes:
        text: The whole file with blanks for all that is not this WGSL: its places are the file's.
        begin: Where the WGSL begins.
        end: Where it ends.
        kernel: The kernel that it is registered for, "" where that is not said.
        is_inline: Whether it is in a Python file.
    """

    text: str = field(repr=False)
    begin: int
    end: int
    kernel: str = ""
    is_inline: bool = True


def shaders_in(source: str) -> list[Shader]:
    """Return the WGSL in a Python file, which may be half written, in its order.

    That is what ``wgsl_kernel`` and the methods of ``gpu`` are given, directly or by a name that
    the file gives a string, and each string behind a comment ``# wgsl``.
    """
    tokens = list(_tokens(source))
    starts = tuple(accumulate((len(one) + 1 for one in source.split("\n")), initial=0))
    found: dict[int, Shader] = {}
    for kernel, literal in _shader_literals(tokens):
        begins = [starts[one.start[0] - 1] + one.start[1] for one in literal]
        begin, end = begins[0], begins[-1] + len(literal[-1].string)
        text = _only(source, list(zip(begins, (one.string for one in literal), strict=True)))
        if is_wgsl(text[begin:end].strip()) and (begin not in found or kernel):
            found[begin] = Shader(text, begin, end, kernel)
    return [found[begin] for begin in sorted(found)]


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens up to where Python reads no further."""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(source).readline)


def _shader_literals(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[str, Literal]]:
    """Yield the strings that hold WGSL, each with the kernel that it is for."""
    assigned = _assigned(tokens)
    for at, one in enumerate(tokens):
        if one.type == tokenize.COMMENT and _MARK.match(one.string):
            after = (n for n in range(at, len(tokens)) if tokens[n].type == tokenize.STRING)
            if marked := _strings(tokens, next(after, len(tokens))):
                yield "", marked
        if one.type != tokenize.NAME or at + 1 >= len(tokens) or tokens[at + 1].string != "(":
            continue
        before = [token.string for token in tokens[max(at - 2, 0) : at]]
        arguments = _arguments(tokens, at + 2)
        if one.string == "wgsl_kernel":
            named = _strings(arguments[0], 0)
            kernel = named[0].string.strip("rRuU'\"") if len(named) == 1 else ""
            for number, argument in enumerate(arguments):
                is_named = [token.string for token in argument[:2]] == ["source", "="]
                if number == 1 or is_named:
                    given = _texts(argument[2 if is_named else 0 :], assigned)
                    yield from ((kernel, text) for text in given)
        elif one.string in _SHADER_METHODS and before == ["gpu", "."]:
            yield from (("", text) for text in _texts(arguments[0], assigned))


def _assigned(tokens: Sequence[tokenize.TokenInfo]) -> dict[str, list[Literal]]:
    """Return the strings that names are given, by name."""
    found: dict[str, list[Literal]] = {}
    for at in range(len(tokens) - 2):
        name, equals, first = tokens[at : at + 3]
        is_start = at == 0 or tokens[at - 1].type in _STARTS
        if is_start and name.type == tokenize.NAME and equals.string == "=":
            text = _strings(tokens, at + (3 if first.string == "(" else 2))
            found.setdefault(name.string, []).extend([text] if text else [])
    return found


def _strings(tokens: Sequence[tokenize.TokenInfo], at: int) -> Literal:
    """Return the strings from a token on that are one; none are with bytes and with formats."""
    found: list[tokenize.TokenInfo] = []
    for one in tokens[at:]:
        if one.type == tokenize.STRING and not set("bBfF") & set(_prefix(one.string)):
            found.append(one)
        elif one.type not in _BLANK:
            break
    return tuple(found)


def _arguments(tokens: Sequence[tokenize.TokenInfo], at: int) -> list[list[tokenize.TokenInfo]]:
    """Return the arguments of a call, whose first token is ``at``; the last may be half written."""
    found: list[list[tokenize.TokenInfo]] = [[]]
    depth = 0
    for one in tokens[at:]:
        depth += (one.string in ("(", "[", "{")) - (one.string in (")", "]", "}"))
        if depth < 0 or one.type == tokenize.NEWLINE:
            break
        if depth == 0 and one.string == ",":
            found.append([])
        elif one.type not in _BLANK:
            found[-1].append(one)
    return found


def _texts(
    argument: Sequence[tokenize.TokenInfo], assigned: dict[str, list[Literal]]
) -> list[Literal]:
    """Return the strings that an argument may be."""
    spelt = [one.string for one in argument]
    for lead in (["textwrap", ".", "dedent", "("], ["dedent", "("], ["("]):
        if spelt[: len(lead)] == lead and spelt[-1] == ")":
            return _texts(argument[len(lead) : -1], assigned)
    if len(argument) == 1 and argument[0].type == tokenize.NAME:
        return assigned.get(argument[0].string, [])
    text = _strings(argument, 0)
    return [text] if text and len(text) == len(argument) else []


def _prefix(literal: str) -> str:
    found = _PREFIX.match(literal)
    return found.group() if found else ""


def _only(source: str, literals: Sequence[tuple[int, str]]) -> str:
    """Return a file with blanks for all but what strings in it hold."""
    parts: list[str] = []
    at = 0
    for begin, literal in literals:
        prefix = _prefix(literal)
        quotes = 3 if literal[len(prefix) :][:3] in ('"""', "'''") else 1
        head = len(prefix) + quotes
        content = literal[head : len(literal) - quotes]
        if "r" not in prefix.lower():
            content = _ESCAPE.sub(lambda one: _MEANT.get(one[1], one[0]).rjust(2), content)
        parts += (_blanks(source[at : begin + head]), content)
        at = begin + head + len(content)
    return "".join((*parts, _blanks(source[at:])))


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
