"""Declarations of the names that shaders need not declare, for tensors of float32."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import text_beside
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WHOLE = frozenset({"depth", "rows", "cols"})


def declarations(module: tree.Module) -> list[str]:
    """Return a declaration for each name that nothing in a module declares."""
    found: dict[str, str] = {}
    wanted = list(dict.fromkeys(use.ident.name for use in names_of(module).unresolved))
    known = _DECLARED.findall(text_beside(__file__, "declarations.wgsl"))
    for name in wanted:
        for line, declared in known:
            match = re.fullmatch(declared.replace("TENSOR", r"(\w+)"), name)
            if match is not None:
                found[name] = line.replace("TENSOR", "".join(match.groups()))
                wanted += [one for one in _NEEDED.findall(found[name]) if one not in wanted]
                break
    if "params" in wanted:
        members = ", ".join(_members(module))
        found["params"] = f"struct Params_ {{ {members} }}\nvar<private> params: Params_;"
    for name in _indexed(module):
        if name in wanted and name not in found:
            found[name] = f"var<private> {name}: array<f32, 4096>;"
    return list(found.values())


_DECLARED = re.compile(r"^((?:alias|const|fn|var<private>) (\w+).*)$", re.MULTILINE)
_NEEDED = re.compile(r"\bCoords_\w+")


def _members(module: tree.Module) -> Iterator[str]:
    names: Iterable[str] = dict.fromkeys(
        one.member.name
        for one in descendants_of(module)
        if isinstance(one, tree.Access) and getattr(one.base, "name", "") == "params"
    )
    for name in names:
        yield f"{name}: {'u32' if name in _WHOLE or name.endswith('_size') else 'f32'}"


def _indexed(module: tree.Module) -> Iterator[str]:
    for one in descendants_of(module):
        if isinstance(one, tree.Index) and isinstance(one.base, tree.Name):
            yield one.base.name


def descendants_of(module: tree.Module) -> Iterator[tree.Node]:
    for one in module.declarations:
        yield from descendants(one)
