"""Which expressions only compute, so that one whose value nobody takes may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

_PURE_ACCESSORS = ("load_", "load4_", "coords_", "hold", "wk_nan", "wk_inf", "T_", "Coords_")
"""How those functions and types of the prelude begin that only compute."""


class Effects:
    """What the functions of a module do beside computing."""

    def __init__(self, functions: Mapping[str, tree.Function]) -> None:
        """Take the functions by name; each is looked at when it is first asked for."""
        self.functions = functions
        self._known: dict[str, bool] = {}

    def only_computes(self, node: tree.Node) -> bool:
        """Say whether evaluating ``node`` writes nothing and waits for nobody."""
        return all(
            self._computes(one.callee.name)
            for one in descendants(node)
            if isinstance(one, tree.Call)
        )

    def _computes(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = True  # WGSL has no recursion
            function = self.functions.get(name)
            if function is not None:
                self._known[name] = self._function_computes(function)
            elif is_predeclared(name):
                is_write = name.startswith(("atomic", "textureStore", "workgroupUniformLoad"))
                self._known[name] = not is_write and not name.endswith("Barrier")
            else:
                self._known[name] = name == "T" or name.startswith(_PURE_ACCESSORS)
        return self._known[name]

    def _function_computes(self, function: tree.Function) -> bool:
        own: set[str] = set()
        for node in descendants(function.body):
            if isinstance(node, tree.Var):
                own.add(node.ident.name)
            elif isinstance(node, tree.Broken) or (
                isinstance(node, tree.Jump) and node.keyword == "discard"
            ):
                return False
        for node in descendants(function.body):
            if isinstance(node, (tree.Assign, tree.IncrementStatement)) and node.target is not None:
                written = root_name(node.target)
                if written is None or written not in own:
                    return False
        return self.only_computes(function.body)


def root_name(target: tree.Expression) -> str | None:
    """Return the variable that ``target`` is part of, None behind a pointer."""
    while True:
        if isinstance(target, tree.Name):
            return target.name
        if isinstance(target, (tree.Index, tree.Access)):
            target = target.base
        elif isinstance(target, tree.Paren):
            target = target.inner
        else:
            return None
