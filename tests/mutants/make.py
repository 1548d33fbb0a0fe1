"""Mutants of kernels of ours, made by machine: one small change each to a shader's text.

A mutant's name tells the file and the change, so that an edit elsewhere in the file leaves it as it
is. Those of rare kinds and with the least hashes are chosen, a few of each file.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.modules.source import shaders_folder
from wgsl_kernels.engine.registry.registry import get_kernel, kernel_names
from wgsl_kernels.testing import all_samples
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.tokens import NAME, NUMBER, TEMPLATE, Token, tokenize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

COUNT = 300
"""Mutants that there are at least."""
OF_FILE = 6
"""Mutants of one file at most."""
LAST = 3796956596
"""The largest hash of a mutant of a kind that is not rare."""
RARE = ("barrier dropped", "loop widened", "operands of - swapped", "operands of / swapped")
"""Changes that come first, since there are few."""
_SWAPPED = {"-": "-", "/": "/", "%": "%", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_OTHER = {"+": "-", "&&": "||", "||": "&&"}
_NEXT_AXIS = {"x": "y", "y": "x", "z": "y", "w": "z"}
_INTEGER = re.compile(r"\d+[iu]?$")


@dataclass(frozen=True)
class Mutant:
    """A changed shader.

    Attributes:
        kernel: The kernel that it belongs to.
        path: Its file.
        id: Its name.
        text: The file's text, changed.
    """

    kernel: str
    path: Path
    id: str
    text: str


def mutants(only: Collection[str] = ()) -> list[Mutant]:
    """Return the mutants, in an order that a change to one file leaves as it is.

    Args:
        only: The names of the files; all where there is none.
    """
    found: list[Mutant] = []
    for path, kernel in _files():
        if only and path.name not in only:
            continue
        every = sorted(_of_file(path, kernel), key=_place)
        found += every[:OF_FILE]
    chosen = [one for one in found if _place(one) <= (True, LAST)]
    return sorted(chosen, key=_place)


def _place(mutant: Mutant) -> tuple[bool, int]:
    is_common = not any(f": {word}: " in mutant.id for word in RARE)
    return is_common, zlib.crc32(mutant.id.encode())


def _files() -> Iterator[tuple[Path, str]]:
    """Yield the files that are one kernel's own, with the kernel."""
    sampled = {one.kernel for one in all_samples()}
    by_name = {_snake(name): name for name in kernel_names() if name in sampled}
    for name in sampled:
        kernel = get_kernel(name, "webgpu")
        if kernel is not None and isinstance(kernel.func, ShaderKernel):
            by_name[kernel.func.given] = name
    folder = shaders_folder()
    for path in sorted(folder.rglob("*.w[eg]sl")):
        place = path.relative_to(folder).as_posix()
        kernel_name = by_name.get(place) or by_name.get(path.stem)
        if kernel_name is not None and not place.startswith(("lib/", "templates/", "operands/")):
            yield path, kernel_name


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _of_file(path: Path, kernel: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    text = path.read_text()
    every = list(tokenize(Text(path.name, text)))
    seen: dict[str, int] = {}
    place = path.relative_to(shaders_folder()).as_posix()
    for begin, end, new, word in _changes(every, text):
        line = text[text.rfind("\n", 0, begin) + 1 : (text.find("\n", end) + 1 or len(text)) - 1]
        name = f"{place}: {word}: {' '.join(line.split())}"
        seen[name] = seen.get(name, 0) + 1
        number = f" ({seen[name]})" if seen[name] > 1 else ""
        yield Mutant(kernel, path, name + number, text[:begin] + new + text[end:])


def _changes(tokens: list[Token], text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield what is replaced, by what, and a word for it, inside of functions."""
    depth, is_function = 0, False
    in_for: int | None = None
    for at, one in enumerate(tokens):
        if one.text == "fn" and depth == 0:
            is_function = True
        depth += {"{": 1, "}": -1}.get(one.text, 0)
        if one.text == "}" and depth == 0:
            is_function = False
        if not (is_function and depth):
            continue
        before = tokens[at - 1].text if at else ""
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if one.text == "for":
            in_for = at
        elif one.text == "{":
            in_for = None
        if one.text == "if" and after == "(":
            closing = _closing(tokens, at + 1)
            inner = text[tokens[at + 1].end : tokens[closing].begin]
            yield tokens[at + 1].end, tokens[closing].begin, "true", "guard dropped"
            yield tokens[at + 1].end, tokens[closing].begin, f"!({inner})", "condition negated"
        elif one.text in ("workgroupBarrier", "storageBarrier"):
            yield one.begin, tokens[at + 3].end, "", "barrier dropped"
        elif one.kind == NUMBER and _INTEGER.match(one.text) and before not in ("@", "<", ","):
            suffix = one.text.lstrip("0123456789")
            yield one.begin, one.end, f"{int(one.text.rstrip('iu')) + 1}{suffix}", "one more"
        elif one.text == "<" and in_for is not None and one.kind != TEMPLATE:
            yield one.begin, one.end, "<=", "loop widened"
        elif one.kind == TEMPLATE:
            continue
        elif one.text in _OTHER and before != "(":
            yield one.begin, one.end, _OTHER[one.text], f"{one.text} made {_OTHER[one.text]}"
        elif one.text in _SWAPPED and _has_names_beside(tokens, at):
            left, right = tokens[at - 1], tokens[at + 1]
            swapped = f"{right.text} {one.text} {left.text}"
            yield left.begin, right.end, swapped, f"operands of {one.text} swapped"
        elif before == "." and one.text in _NEXT_AXIS:
            yield one.begin, one.end, _NEXT_AXIS[one.text], f".{one.text} made another axis"


def _closing(tokens: list[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].text, 0)
        if depth == 0:
            return place
    raise AssertionError("a parenthesis that nothing closes")


def _has_names_beside(tokens: list[Token], at: int) -> bool:
    """Say whether both operands are a name or a number alone."""
    if at + 2 >= len(tokens):
        return False
    simple = (NAME, NUMBER)
    is_alone = tokens[at - 2].text not in (".", "-", "*", "/", "%", "::") and tokens[
        at + 2
    ].text not in (".", "(", "[", "*", "/", "%", "<", "::")
    return is_alone and tokens[at - 1].kind in simple and tokens[at + 1].kind in simple
