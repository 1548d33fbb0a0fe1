"""Composing a group of maps into one shader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.maps import MAP_SLOTS
from wgsl_kernels.backends.webgpu.composing.groups.expressions import GroupExpressions
from wgsl_kernels.backends.webgpu.composing.groups.fields import Fields
from wgsl_kernels.backends.webgpu.composing.groups.functions import Functions
from wgsl_kernels.backends.webgpu.composing.text.composed import (
    PARAMS,
    BoundBuffer,
    Composed,
    uniform_head,
)
from wgsl_kernels.backends.webgpu.composing.text.instances import MAP
from wgsl_kernels.backends.webgpu.composing.text.operands import BOUND_TYPES, STORAGE_TYPES
from wgsl_kernels.backends.webgpu.composing.text.slots import fill_slot
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.syntax.source_map import TextBuilder

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composed import BindingAccess
    from wgsl_kernels.backends.webgpu.composing.text.structure import Across, Leaf, Structure

ACROSS = ("wk_across", "wk_inner")
"""The facts that say in which order items are met that are not in y's."""
_ITEMSIZE = {"f32": 4, "i32": 4, "u32": 4, "f16": 2, "vec2<f32>": 8}


def compose_group(structure: Structure, *, across: Across | None = None) -> Composed:
    """Return the shader that computes ``structure``: one dispatch, one pass over memory.

    Args:
        structure: What is computed.
        across: The axis that invocations go along, if items are met in its order.
    """
    fields = Fields()
    functions = Functions(fields)
    for word in ("wk_size", "wk_run_bits", *(() if across is None else ACROSS)):
        fields.word(word)
    expressions = GroupExpressions(structure, functions, fields, lambda number: f"wk_l{number}")
    expressions.across = across
    values = expressions.compute()
    for number in structure.outputs:
        dtype = structure.steps[number].kind.output
        stored = expressions.stored(values[number], dtype)
        expressions.lines.append(f"wk_y{number}[wk_i] = {stored};")
    bindings, declarations = _bindings(structure)
    text = TextBuilder()
    dtypes = {step.kind.output for step in structure.steps} | {
        one.dtype for one in structure.leaves
    }
    has_f16 = "float16" in dtypes
    text.generate("enable f16;\n" if has_f16 else "")
    text.generate(fields.declaration() + declarations)
    functions.quote(text)
    is_across = across is not None
    slot = "wk_item_across" if is_across else "wk_item"
    text.generate(fill_slot(MAP_SLOTS, slot, expressions.lines) + "\n")
    skeleton = MAP.given(VEC4=structure.vec4, ACROSS=is_across).names()
    for declaration in skeleton.module.declarations:
        text.quote(skeleton.text, declaration.span)
        text.generate("\n")
    source_map = text.finish()
    start = functions.start
    return Composed(
        kernel=structure.label,
        form="map",
        text=source_map.composed.text,
        source_map=source_map,
        entry="main",
        bindings=bindings,
        fields=tuple(fields.plan),
        params_size=fields.bytes,
        workgroup_size=(64, 1, 1),
        workgroup_bytes=0,
        features=frozenset({"shader-f16"}) if has_f16 else frozenset(),
        uses_status=False,
        vec4=structure.vec4,
        partial_bytes=0,
        start=None if start is None else start[0].origin(start[1].name_span.begin),
    )


def _bindings(structure: Structure) -> tuple[tuple[BoundBuffer, ...], str]:
    bindings: list[BoundBuffer] = []
    lines: list[str] = []

    def add(name: str, element: str, access: BindingAccess, width: int) -> None:
        number = len(bindings)
        type_ = f"vec4<{element}>" if width == 4 else element
        lines.append(f"@group(0) @binding({number}) var<storage, {access}> {name}: array<{type_}>;")
        stride = _ITEMSIZE[element] * width
        bindings.append(BoundBuffer(name, access, number, "tensor", stride))

    for number, leaf in enumerate(structure.leaves):
        if leaf.is_bound:
            add(f"wk_l{number}", BOUND_TYPES[leaf.dtype], "read", _width(structure, leaf))
    for number in structure.outputs:
        element = STORAGE_TYPES[structure.steps[number].kind.output]
        add(f"wk_y{number}", element, "read_write", 4 if structure.vec4 else 1)
    number = len(bindings)
    lines.append(f"{uniform_head(number)} {PARAMS}: wk_Params;")
    bindings.append(BoundBuffer(PARAMS, "uniform", number, "params"))
    return tuple(bindings), "\n".join(lines) + "\n"


def _width(structure: Structure, leaf: Leaf) -> int:
    is_word = leaf.dtype in BYTES  # which holds all four
    return 4 if structure.vec4 and leaf.mode in ("flat", "wide") and not is_word else 1
