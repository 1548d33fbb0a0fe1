"""Where statements go on, and where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable


def ends(node: tree.Statement) -> bool:
    """Say whether nothing behind a statement in its block is reached."""
    while True:
        if isinstance(node, tree.Round):
            node = node.body
        elif isinstance(node, tree.CompoundStatement) and node.statements:
            node = node.statements[-1]
        else:
            break
    if isinstance(node, (tree.Return, tree.Jump)):
        return True
    if not isinstance(node, tree.If):
        return False
    branch: tree.If | tree.CompoundStatement | None = node
    while isinstance(branch, tree.If):
        if not ends(branch.body):
            return False
        branch = branch.otherwise
    return branch is not None and ends(branch)


def own_jump(body: tree.CompoundStatement, keywords: Iterable[str]) -> tree.Jump | None:
    """Return the first jump in ``body`` that leaves the statement that ``body`` is of."""
    wanted = frozenset(keywords)
    open_: list[tuple[tree.Node, frozenset[str]]] = [(body, wanted)]
    while open_:
        node, searched = open_.pop()
        if isinstance(node, tree.Jump):
            if node.keyword in searched:
                return node
        elif isinstance(node, tree.CompoundStatement):
            open_ += [(one, searched) for one in reversed(node.statements)]
        elif isinstance(node, tree.Round):
            open_.append((node.body, searched))
        elif isinstance(node, tree.If):
            if node.otherwise is not None:
                open_.append((node.otherwise, searched))
            open_.append((node.body, searched))
        elif isinstance(node, tree.Switch):
            inner = searched - {"break"}
            open_ += [(one.body, inner) for one in reversed(node.clauses)]
    return None


def without_last_break(body: tree.CompoundStatement) -> tree.CompoundStatement:
    """Return a clause's body without the ``break`` that it may end in."""
    last = body.statements[-1] if body.statements else None
    if isinstance(last, tree.Jump) and last.keyword == "break":
        return replace(body, statements=body.statements[:-1])
    return body
