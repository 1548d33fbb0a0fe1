"""Declarations of the names that shaders need not declare, for tensors of float32."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
_FORMS = (
    (r"T|T_\w+", "alias {0} = f32;"),
    (r"attrs", "var<private> attrs: Attrs;"),
    (r"\w+_rank", "const {0} = 2u;"),
    (r"has_\w+", "const {0} = true;"),
    (r"load_(\w+)_at", "fn {0}(coords: Coords_{1}) -> f32 {{ return 0.0; }}"),
    (r"load4_(\w+)", "fn {0}(i: u32) -> vec4<f32> {{ return vec4(0.0); }}"),
    (r"load_(\w+)", "fn {0}(i: u32) -> f32 {{ return 0.0; }}"),
    (r"Coords_\w+", "alias {0} = array<u32, 2>;"),
    (r"coords_(\w+)", "fn {0}(i: u32) -> Coords_{1} {{ return Coords_{1}(); }}"),
    (r"store4_\w+", "fn {0}(i: u32, values: vec4<f32>) {{ }}"),
    (r"store_\w+", "fn {0}(i: u32, value: f32) {{ }}"),
    (r"report_index(?:_of_\w+)?", "fn {0}(bad: i32) {{ }}"),
    (r"hold", "fn hold(x: f32) -> f32 {{ return x; }}"),
    (r"wk_print_([iu])32", "fn {0}(value: {1}32) {{ }}"),
    (r"wk_print", "fn wk_print(value: f32) {{ }}"),
    (r"wk_assert", "fn wk_assert(condition: bool) {{ }}"),
    (r"wk_nan", "fn wk_nan() -> f32 {{ return bitcast<f32>(0x7fc00000u); }}"),
    (r"wk_inf", "fn wk_inf() -> f32 {{ return bitcast<f32>(0x7f800000u); }}"),
)
"""How a name that the composer has is declared, for tensors of float32."""
_WHOLE = frozenset({"depth", "rows", "cols"})


def declarations(module: tree.Module) -> list[str]:
    """Return a declaration for each name that nothing in a module declares."""
    found: dict[str, str] = {}
    wanted = list(dict.fromkeys(use.ident.name for use in names_of(module).unresolved))
    for name in wanted:
        for pattern, form in _FORMS:
            match = re.fullmatch(pattern, name)
            if match is not None:
                found[name] = form.format(name, *match.groups())
                wanted += [one for one in _NEEDED.findall(found[name]) if one not in wanted]
                break
    if "params" in wanted:
        members = ", ".join(_members(module))
        found["params"] = f"struct Params_ {{ {members} }}\nvar<private> params: Params_;"
    for name in _indexed(module):
        if name in wanted and name not in found:
            found[name] = f"var<private> {name}: array<f32, 4096>;"
    return list(found.values())


_NEEDED = re.compile(r"\bCoords_\w+")


def _members(module: tree.Module) -> Iterator[str]:
    """Yield the fields of ``params`` that a text reads, each once."""
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
