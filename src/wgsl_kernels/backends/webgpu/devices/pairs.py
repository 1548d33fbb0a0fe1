"""Texts whose shaders move numbers in pairs, each pair an integer of 64 bits.

llvmpipe loads and stores number by number: for each lane it tests one place against the buffer's
end, and branches. A pair takes one test where two numbers take two. WGSL has no such integers, but
wgpu's compiler takes ``u64`` where the device has the feature. So a text is changed on its way to
that compiler, and nobody else sees it: a declaration of fours becomes one of two pairs, what is
loaded becomes four numbers again, and what is stored becomes pairs. Bits are moved, never changed.
See docs/decisions/0163-software-adapters-move-numbers-in-pairs.md.

A buffer stays as it is where its fours are not loaded and stored whole, or where a text could mean
something else by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.wgsl.syntax.places import text_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

FEATURE = "shader-int64"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ALIAS = re.compile(r"\balias\s+(\w+)\s*=\s*([\w<>, ]+);")
_BUFFER = re.compile(r"\bvar<storage, read(?:_write)?>\s+(\w+)\s*:\s*array<([\w<> ]+)>\s*;")
_FOUR = re.compile(r"vec4(?:<(f32|i32|u32)>|([fiu]))")
_FUNCTION = re.compile(r"\bfn\s+\w+\s*\(")
_PARAMETER = re.compile(r"(\w+)\s*:")
_NEXT = re.compile(r"\s*(\.[xyzwrgba]+)?\s*(==|=|\[|[-+*/%&|^]=|<<=|>>=|\+\+|--)?")
_LANE = re.compile(r"\[([\w %+*-]+)\]")
_BRACKET, _STOP = re.compile(r"[()\[\]{}]"), re.compile(r"[()\[\]{};]")

_SHORT = {"f": "f32", "i": "i32", "u": "u32"}


class _Insertion(NamedTuple):
    at: int
    text: str


@dataclass(frozen=True)
class _Function:
    """One function of a text.

    Attributes:
        parameters: Their names.
        begin: Where its body begins.
        end: Where that ends.
    """

    parameters: frozenset[str]
    begin: int
    end: int


def in_pairs(text: str) -> str:
    """Return a complete text with its buffers of fours in pairs, as many of them as can be."""
    code = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    aliases = dict(_ALIAS.findall(code))
    functions = list(_functions(code))
    insertions: list[_Insertion] = []
    kinds: dict[str, None] = {}
    spans: list[tuple[int, int]] = []
    for found in _BUFFER.finditer(code):
        kind = _kind(found[2], aliases)
        moves = None if kind is None else _moves(code, functions, found[1], kind)
        if kind is not None and moves is not None:
            insertions += moves
            spans.append(found.span(2))
            kinds[kind] = None
    if not spans:
        return text
    edits = [(at, at, one) for at, one in insertions]
    edits += [(begin, end, "vec2<u64>") for begin, end in spans]
    parts: list[str] = []
    last = 0
    for begin, end, one in sorted(edits, key=lambda edit: (edit[0], edit[2][0] != " ")):
        parts += text[last:begin], one
        last = end
    added = text_beside(__file__, "pairs.wgsl").partition("\n")[2]  # of a type T
    return "".join([*parts, text[last:], *(added.replace("T", kind) for kind in kinds)])


def _kind(element: str, aliases: dict[str, str]) -> str | None:
    """Return of what type the four numbers of an element are; None where it is something else."""
    for _ in aliases:
        element = re.sub(r"\w+", lambda word: aliases.get(word[0], word[0]), element)
    found = _FOUR.fullmatch(element.replace(" ", ""))
    return None if found is None else found[1] or _SHORT[found[2]]


def _functions(code: str) -> Iterator[_Function]:
    for head in _FUNCTION.finditer(code):
        close = _closing(code, head.end() - 1)
        begin = code.find("{", close)
        names = _PARAMETER.findall(code, head.end(), close)
        yield _Function(frozenset(names), begin, _closing(code, begin))


def _closing(code: str, at: int) -> int:
    """Return where the bracket that opens at a place is closed."""
    depth = 0
    for found in _BRACKET.finditer(code, at):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.start()
    return len(code)


def _moves(code: str, functions: list[_Function], name: str, kind: str) -> list[_Insertion] | None:
    """Return what makes loads and stores of a buffer those of pairs; None where one cannot be."""
    found: list[_Insertion] = []
    use = re.compile(rf"(?<![\w.]){name}(?!\w)")
    local = re.compile(rf"\b(?:let|var|const)\s+{name}\b")
    access = re.compile(rf"(?<![\w.]){name}\s*\[|&\s*{name}\b")
    for function in functions:
        if name in function.parameters:
            continue  # which is meant by the name in all of it
        if local.search(code, function.begin, function.end):
            if access.search(code, function.begin, function.end):
                return None
            continue  # where the name is of no array, and there is no other use of one
        for one in use.finditer(code, function.begin, function.end):
            move = _move(code, one.start(), one.end(), kind)
            if move is None:
                return None
            found += move
    return found


def _move(code: str, begin: int, end: int, kind: str) -> list[_Insertion] | None:
    """Return the insertions for one use of a buffer: a load of four numbers, or a store."""
    if not code.startswith("[", end) or code[:begin].rstrip().endswith("&"):
        return None
    close = _closing(code, end) + 1
    lane = _LANE.match(code, close)
    behind = _NEXT.match(code, close if lane is None else lane.end())
    assert behind is not None
    part, operator = behind[1], behind[2]
    is_load = operator in (None, "==")
    if lane is not None and is_load:
        return [
            _Insertion(begin, f"wk_one_{kind}("),
            _Insertion(lane.start(1), "("),
            _Insertion(lane.end(1), ") / 2u"),
            _Insertion(lane.end(), f", {lane[1]})"),
        ]
    if is_load:
        return [_Insertion(begin, f"wk_four_{kind}("), _Insertion(close, ")")]
    if lane is not None or part is not None or operator != "=":
        return None  # others may store the other numbers of the pair
    return [_Insertion(behind.end(), f" wk_pairs_{kind}("), _Insertion(_end(code, close), ")")]


def _end(code: str, at: int) -> int:
    """Return where the statement ends that a place is in."""
    depth = 0
    for found in _STOP.finditer(code, at):
        if found[0] in "([{":
            depth += 1
        elif found[0] == ";" or depth == 0:
            return found.start()
        else:
            depth -= 1
    return len(code)
