"""Who writes a local variable."""

from __future__ import annotations

from wgsl_kernels.wgsl.specialize.effects import root_name
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants


def writes_to(body: tree.CompoundStatement, name: str) -> tree.Node | None:
    """Return what in ``body`` writes ``name`` or takes its address, None where nothing does.

    A name that ``body`` declares again counts, too: loops that are written out have no need of it.
    """
    for node in descendants(body):
        if isinstance(node, (tree.Assign, tree.IncrementStatement)):
            if node.target is not None and root_name(node.target) == name:
                return node
        elif (
            isinstance(node, tree.Unary)
            and node.operator == "&"
            and (root_name(node.operand) == name)
        ):
            return node
    return None
