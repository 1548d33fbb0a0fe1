"""Composing free kernels: the loads and stores that they call, and checks of what they declare."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.indexing import dot, ravel, unravel
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.facts.types import template_of
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.facts.facts import FunctionDeclaration

_REFUSED = {
    "f32": frozenset({"int32", "bool", "float16"}),
    "i32": frozenset({"float32", "complex64", "float16"}),
    "f16": frozenset({"float32", "int32", "bool", "complex64"}),
}
_CONTAINERS = frozenset({"array", "vec2", "vec3", "vec4", "atomic"})


def add_free(composer: Composer, entry: str | None) -> FunctionDeclaration:
    """Add to ``composer`` the accessors that a free kernel may call; return its entry point."""
    for operand in composer.operands:
        for name in operand.spellings:
            _add_loads(composer, operand, name)
    for operand in composer.outputs:
        for name in operand.spellings:
            helpers = composer.assembly.helpers
            helpers[f"store_{name}"] = functools.partial(_store, composer, operand, name)
            helpers[f"store4_{name}"] = functools.partial(_store4, composer, operand, name)
    for operand in composer.operands:
        _check_element(composer, operand)
    return _entry(composer, entry)


def _entry(composer: Composer, wanted: str | None) -> FunctionDeclaration:
    entries = {n: f for n, f in composer.source.functions.items() if f.is_entry}
    name = wanted or ("main" if "main" in entries else next(iter(entries)))
    if name not in entries:
        known = ", ".join(sorted(entries))
        raise ShaderError(
            f"{composer.kernel}: {composer.source.file} has no entry point '{name}'; found {known}."
        )
    return entries[name]


def _add_loads(composer: Composer, operand: Operand, name: str) -> None:
    helpers = composer.assembly.helpers
    write = functools.partial
    helpers[f"Coords_{name}"] = write(_coords_alias, operand, name)
    helpers[f"coords_{name}"] = write(_coords, composer, operand, name)
    helpers[f"load_{name}"] = write(_load, composer, operand, name)
    helpers[f"load_{name}_at"] = write(_load_at, composer, operand, name)
    if operand.dtype != "complex64":
        helpers[f"load4_{name}"] = write(_load4, composer, operand, name)


def _coords_alias(operand: Operand, name: str) -> str:
    return f"alias Coords_{name} = array<u32, {max(operand.rank, 1)}>;"


def _coords(composer: Composer, operand: Operand, name: str) -> str:
    lines, coordinates = unravel("wk_i", _sizes(composer, operand), "wk_c")
    values = ", ".join(coordinates or ["0u"])
    lines.append(f"return Coords_{name}({values});")
    return _function(f"coords_{name}(wk_i: u32) -> Coords_{name}", lines)


def _load(composer: Composer, operand: Operand, name: str) -> str:
    if operand.access == "flat":
        lines = [f"return {composer.loaded(operand, 'wk_i')};"]
    elif operand.access == "strided":
        lines, coordinates = unravel("wk_i", _sizes(composer, operand), "wk_c")
        element = composer.loaded(operand, _place(composer, operand, coordinates))
        lines.append(f"return {element};")
    else:
        lines = [_without_array(composer, operand)]
    return _function(f"load_{name}(wk_i: u32) -> {operand.storage_type}", lines)


def _load_at(composer: Composer, operand: Operand, name: str) -> str:
    coordinates = [f"wk_c[{axis}]" for axis in range(operand.rank)]
    if operand.access == "flat":
        place = ravel(coordinates, _sizes(composer, operand))
        line = f"return {composer.loaded(operand, place)};"
    elif operand.access == "strided":
        line = f"return {composer.loaded(operand, _place(composer, operand, coordinates))};"
    else:
        line = _without_array(composer, operand)
    return _function(f"load_{name}_at(wk_c: Coords_{name}) -> {operand.storage_type}", [line])


def _load4(composer: Composer, operand: Operand, name: str) -> str:
    element = f"vec4<{operand.storage_type}>"
    is_plain = operand.access == "flat" and operand.name not in composer.before
    is_plain = is_plain and operand.dtype not in BYTES
    if is_plain and _binds_vec4(composer, operand, "load"):
        line = f"return {composer.variable(operand, element)}[wk_i / 4u];"
    else:
        line = f"return {element}({', '.join(f'load_{name}(wk_i + {n}u)' for n in range(4))});"
    return _function(f"load4_{name}(wk_i: u32) -> {element}", [line])


def _binds_vec4(composer: Composer, operand: Operand, verb: str) -> bool:
    """Say whether the tensor can be bound as vec4: nobody reads or writes a single element."""
    single = {f"{verb}_{name}{end}" for name in operand.spellings for end in ("", "_at")}
    needs = set[str]().union(*(one.needs for one in composer.source.functions.values()))
    declared = composer.source.variables.get(operand.wgsl)
    return declared is None and not needs & single


def _store(composer: Composer, operand: Operand, name: str) -> str:
    signature = f"store_{name}(wk_i: u32, wk_v: {operand.storage_type})"
    return _function(signature, [composer.stored(operand, "wk_i", "wk_v")])


def _store4(composer: Composer, operand: Operand, name: str) -> str:
    element = f"vec4<{operand.storage_type}>"
    if composer.after is not None and composer.after.structure.vec4:
        lines = ["wk_hand_on(wk_i / 4u, wk_v);"]
    elif composer.after is None and (
        _binds_vec4(composer, operand, "store") or declared_as_vec4(composer.source, operand.name)
    ):
        lines = [f"{composer.variable(operand, element)}[wk_i / 4u] = wk_v;"]
    elif composer.after is not None and composer.after.loops:
        size = composer.word(f"wk_{operand.wgsl}_size", f"{operand.name}_size")
        lines = ["var wk_left = wk_v;"]
        lines.append(f"let wk_end = wk_i + min(4u, {size} - wk_i);")
        lines.append("for (var wk_n = wk_i; wk_n < wk_end; wk_n++) {")
        lines.append(f"  {composer.stored(operand, 'wk_n', 'wk_left.x')}")
        lines += ["  wk_left = wk_left.yzwx;", "}"]
    else:
        size = composer.word(f"wk_{operand.wgsl}_size", f"{operand.name}_size")
        lines = [composer.stored(operand, "wk_i", "wk_v.x")]
        for lane in range(1, 4):
            store = composer.stored(operand, f"wk_i + {lane}u", f"wk_v.{'xyzw'[lane]}")
            lines.append(f"if (wk_i + {lane}u < {size}) {{ {store} }}")
    return _function(f"store4_{name}(wk_i: u32, wk_v: {element})", lines)


def declared_as_vec4(source: Source, name: str) -> bool:
    """Say whether the author declares a tensor's array as one of vec4: it moves only in fours."""
    variable = source.variables.get(wgsl_name(name))
    if variable is None:
        return False
    container, inner = template_of(variable.type)
    return container == "array" and template_of(inner[0])[0] == "vec4"


def _sizes(composer: Composer, operand: Operand) -> list[str]:
    return composer.slots(f"wk_{operand.wgsl}_shape", f"{operand.name}_shape", operand.rank, pad=1)


def _place(composer: Composer, operand: Operand, coordinates: list[str]) -> str:
    name = f"wk_{operand.wgsl}"
    strides = composer.slots(f"{name}_strides", f"{operand.name}_strides", operand.rank)
    return dot(coordinates, strides, composer.word(f"{name}_offset", f"{operand.name}_offset"))


def _without_array(composer: Composer, operand: Operand) -> str:
    if operand.access == "absent":
        return f"return {operand.storage_type}();"
    return f"return {composer.value(operand)};"


def _function(signature: str, lines: list[str]) -> str:
    return f"fn {signature} {{\n  " + "\n  ".join(lines) + "\n}"


def _check_element(composer: Composer, operand: Operand) -> None:
    """Refuse a binding whose written element type would read the tensor's bits as another's.

    u32 is left alone: it is how bits are read on purpose.
    """
    variable = composer.source.variables.get(operand.wgsl)
    if variable is None or operand.access == "absent":
        return
    scalar, inner = template_of(composer.types.resolve(variable.type))
    while scalar in _CONTAINERS:
        scalar, inner = template_of(inner[0]) if inner else ("", ())
    if operand.dtype in _REFUSED.get(scalar, ()):
        message = (
            f"{composer.kernel}: {operand.wgsl} is declared {variable.type}, but {operand.name} "
            f"is {operand.dtype} ({operand.storage_type})."
        )
        raise ShaderError(composer.source.point(message, variable))
