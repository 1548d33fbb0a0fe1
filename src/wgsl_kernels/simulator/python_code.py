"""Functions in Python, compiled however many blocks are in others.

Python reads at most 100 indents, and at most 20 loops in each other. What has more is made a tree,
in which loops that are too deep are functions of their own.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_INDENT = "    "
_INDENTS, _LOOPS = 90, 16
MOST_INDENTS = 200
"""Blocks in blocks. Python's compiler recurses: on a stack of 128 KiB, 300 were survived."""


class _CodeLine(NamedTuple):
    depth: int
    text: str

    @property
    def is_loop(self) -> bool:
        return self.text.startswith("for ")


class TooDeepError(Exception):
    """A function has more blocks in others than Python's compiler is asked to survive."""


def code_of(source: str, file: str) -> CodeType:
    """Return the code of a function.

    Raises:
        TooDeepError: Its blocks are too deep.
    """
    lines = [_line(one) for one in source.split("\n") if one]
    deepest = max(one.depth for one in lines)
    if deepest > MOST_INDENTS:
        raise TooDeepError
    if deepest <= _INDENTS and _loops(lines) <= _LOOPS:
        return compile(source, file, "exec")
    return compile(ast.Module([_tree(lines)], []), file, "exec")


def _line(written: str) -> _CodeLine:
    text = written.lstrip(" ")
    return _CodeLine((len(written) - len(text)) // len(_INDENT), text)


def _loops(lines: list[_CodeLine]) -> int:
    """Return how many loops are in each other at most."""
    most, around = 0, list[int]()
    for line in lines:
        while around and around[-1] >= line.depth:
            around.pop()
        if line.is_loop:
            around.append(line.depth)
            most = max(most, len(around))
    return most


def _tree(lines: list[_CodeLine]) -> ast.FunctionDef:
    """Return the function that lines are, each read by itself."""
    blocks: list[list[ast.stmt]] = [[]]
    for number, (depth, text) in enumerate(lines, 1):
        is_block = text.endswith(":")
        (node,) = ast.parse(f"{text} pass" if is_block else text).body
        ast.increment_lineno(node, number - 1)
        del blocks[depth + 1 :]
        blocks[-1].append(node)
        if is_block:
            assert isinstance(node, (ast.FunctionDef, ast.If, ast.For))
            node.body = []
            blocks.append(node.body)
    ((function,), *_) = blocks
    assert isinstance(function, ast.FunctionDef)
    _outline(function, {one.arg for one in function.args.args})
    return function


def _outline(function: ast.FunctionDef, around: set[str]) -> None:
    """Put loops that are in too many others into functions inside of the function.

    Args:
        function: The function.
        around: Its parameters, or the variables of the functions that it is in.
    """
    for number, (block, at) in enumerate(list(_deep_loops(function.body, 0))):
        loop = block[at]
        inside = _written(loop)
        outside = around | _written(function, loop)
        shared = sorted(inside & outside)
        lead: list[ast.stmt] = [ast.Nonlocal(shared)] if shared else []
        part = ast.parse(f"def part_{number}(): pass\npart_{number}()").body
        assert isinstance(part[0], ast.FunctionDef)
        part[0].body = [*lead, loop]
        for one in (*part, *lead):
            ast.copy_location(one, loop)
        block[at : at + 1] = part
        _outline(part[0], outside)


def _deep_loops(block: list[ast.stmt], around: int) -> Iterator[tuple[list[ast.stmt], int]]:
    """Yield where loops are that are in as many others as may be, the last of a block first."""
    for at in reversed(range(len(block))):
        node = block[at]
        if isinstance(node, ast.For) and around == _LOOPS:
            yield block, at
        elif isinstance(node, (ast.If, ast.For)):
            yield from _deep_loops(node.body, around + isinstance(node, ast.For))


def _written(node: ast.AST, without: ast.AST | None = None) -> set[str]:
    """Return the variables that are written in a node, but for those in another."""
    found, left = set[str](), [node]
    while left:
        one = left.pop()
        if one is without:
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        left += ast.iter_child_nodes(one)
    return found
