"""Filling workgroup memory with rubbish before a shader begins, to see who relies on zeros."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
from wgsl_kernels.engine.registry.registry import announce_change
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.types.kinds import Array, Atomic, Scalar, StructType, Type, Vector
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Iterator

BITS = 0x7FC0DEAD
"""A NaN as a float, a large number as an integer."""
_SCALARS = {
    "u32": "POISON",
    "i32": "bitcast<i32>(POISON)",
    "f32": "bitcast<f32>(POISON)",
    "f16": "f16(bitcast<f32>(POISON))",
    "bool": "(POISON != 0u)",
}


@contextlib.contextmanager
def poisoned() -> Iterator[set[str]]:
    """Poison the workgroup memory of all shaders that are compiled inside.

    Yields:
        The names of the workgroup variables that were met, filled as shaders are compiled.
    """
    met: set[str] = set()
    find = PipelineCache.find

    def find_poisoned(self: Any, text: str, *arguments: Any, **options: Any) -> Any:
        entry = options.get("entry", "main")
        return find(self, poison(text, entry, met), *arguments, **options)

    announce_change()
    PipelineCache.find = find_poisoned  # type: ignore[method-assign]  # for this block only
    try:
        yield met
    finally:
        PipelineCache.find = find  # type: ignore[method-assign]  # as it was
        announce_change()


def poison(text: str, entry: str, met: set[str]) -> str:
    """Return a shader's text, the entry point of which begins with poisoning."""
    module = parse(Text("poisoned.wgsl", text))
    types = NamedTypes(module.declarations)
    found = [one for one in module.variables.values() if one.space == "workgroup"]
    if not found:
        return text
    met |= {one.name for one in found}
    written = " ".join(_filled(types, one.name, types.of(one.type), 0) for one in found)
    begin = module.functions[entry].body.begin + 1
    filling = f"var POISON = {BITS}u; {written} workgroupBarrier();"
    return f"{text[:begin]} {filling} {text[begin:]}"


def _filled(types: NamedTypes, target: str, type_: Type | None, depth: int) -> str:
    """Return the statements that poison a variable; all lanes write the same."""
    if isinstance(type_, Array):
        place = f"poison_{depth}"
        body = _filled(types, f"{target}[{place}]", type_.element, depth + 1)
        loop = f"var {place} = 0u; {place} < u32({type_.count}); {place}++"
        return f"for ({loop}) {{ {body} }}"
    if isinstance(type_, Atomic):
        return f"atomicStore(&{target}, {_SCALARS[type_.element.name]});"
    if isinstance(type_, Vector):
        return f"{target} = {type_}({_SCALARS[type_.element.name]});"
    if isinstance(type_, StructType):
        return " ".join(
            _filled(types, f"{target}.{one.name}", types.of(one.type), depth)
            for one in types.fields(type_)
        )
    assert isinstance(type_, Scalar), f"{target}: {type_}"
    return f"{target} = {_SCALARS[type_.name]};"
