"""Composing groups of maps: into one shader, or fused into another kernel.

A kernel that reads an input through its accessors may be given a group of maps in its place; one
that writes through them may hand each element on to a group, as its one ``given`` leaf.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.accessors import declared_as_vec4
from wgsl_kernels.backends.webgpu.composing.forms.expressions import GroupExpressions, held
from wgsl_kernels.backends.webgpu.composing.forms.maps import MAP_SLOTS, OWN
from wgsl_kernels.backends.webgpu.composing.groups.functions import Functions
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.composing.text.binding import bind
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
from wgsl_kernels.backends.webgpu.composing.text.instances import MAP, TENSORS
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import read_alone
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.assembly import Generated
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.composing.text.structure import (
        Across,
        After,
        Before,
        Structure,
    )


def prefix_of(name: str) -> str:
    """Return what names of a group begin with that stands for the input ``name``."""
    return f"wk_{name}_wk_"


AFTER = "wk_wk_"
"""The same of the group behind; no input has such a name, which is the composer's."""


def leaves_of(structure: Structure, prefix: str) -> dict[int, Operand]:
    """Return a group's leaves, but for what a kernel gives, as operands of the text it is in."""
    return {
        number: Operand(
            f"{prefix}l{number}", leaf.dtype, 1, "value" if leaf.mode == "value" else "flat"
        )
        for number, leaf in enumerate(structure.leaves)
        if leaf.mode != "given"
    }


def outputs_of(structure: Structure, prefix: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(f"{prefix}y{number}", structure.steps[number].kind.output, 1)
        for number in structure.outputs
    )


def attach(composer: Composer) -> None:
    """Have the functions written that the composer's loads and stores call."""
    helpers = composer.assembly.helpers
    for operand in composer.inputs:
        before = composer.before.get(operand.name)
        if before is not None:
            helpers[f"wk_get_{operand.wgsl}"] = partial(_computed, composer, before, operand)
    if composer.after is not None:
        output = composer.outputs[0]
        helpers["wk_hand_on"] = partial(_epilogue_function, composer, composer.after, output)


def _computed(composer: Composer, before: Before, operand: Operand) -> Generated:
    """Return the function that computes one item of an input: its index to the value."""
    structure, prefix = before.structure, prefix_of(before.name)
    functions = Functions(composer, prefix)
    expressions = expressions_of(composer, structure, functions, prefix)
    values = expressions.compute()[structure.outputs[0]]
    values = [held(value, operand.dtype) for value in values]
    type_ = composer.element_type(operand)
    if operand.dtype == "bool" and composer.form == "free":
        values = [f"u32({value})" for value in values]
    result = values[0] if len(values) == 1 else f"vec4<{type_}>({', '.join(values)})"
    lines = [*expressions.lines, f"return {result};"]
    slot, name = "wk_get_X" if len(values) == 1 else "wk_get4_X", f"wk_get_{operand.wgsl}"
    return functions.written(TENSORS, slot, lines, {slot: name, "T_X": type_})


def _epilogue_function(composer: Composer, after: After, operand: Operand) -> Generated:
    """Return the function that takes the index and value of one item that a kernel writes.

    The value is of the type in which buffers have it.
    """
    structure, functions = after.structure, Functions(composer, AFTER)
    expressions = expressions_of(composer, structure, functions, AFTER)
    values = expressions.compute()
    if after.keeps:
        in_parts = not structure.vec4 and declared_as_vec4(composer.source, operand.name)
        place = "wk_i / 4u][wk_i % 4u" if in_parts else "wk_i"
        expressions.lines.append(f"{composer.variable(operand)}[{place}] = wk_given;")
    for output, number in zip(outputs_of(structure, AFTER), structure.outputs, strict=True):
        expressions.store(output, values[number])
    slot = "wk_hand_on4" if structure.vec4 else "wk_hand_on"
    names = {slot: "wk_hand_on", "wk_Stored": operand.storage_type}
    return functions.written(TENSORS, slot, expressions.lines, names)


def expressions_of(
    composer: Composer, structure: Structure, functions: Functions, prefix: str
) -> GroupExpressions:
    """Return what computes a group in a text, where its names begin with ``prefix``."""
    operands = leaves_of(structure, prefix)
    return GroupExpressions(structure, composer, operands, functions.add, prefix)


_NO_FILE = Text(COMPOSED, "")


def compose_group(structure: Structure, *, across: Across | None = None) -> Composed:
    """Return the shader that computes ``structure``: one dispatch, one pass over memory.

    Invocations go along the axis ``across``, if items are met in its order.
    """
    loop = MAP.given(VEC4=structure.vec4, ACROSS=across is not None)
    leaves, outputs = leaves_of(structure, OWN), outputs_of(structure, OWN)
    composer = Composer(
        structure.label,
        "map",
        tuple(leaves.values()),
        outputs,
        (),
        {},
        Assembly(read_alone(_NO_FILE), loop.names()),
    )
    composer.assembly.offers |= loop.offers()
    functions = Functions(composer)
    expressions = expressions_of(composer, structure, functions, OWN)
    expressions.across = across
    values = expressions.compute()
    for output, number in zip(outputs, structure.outputs, strict=True):
        expressions.store(output, values[number])
    slot = "wk_item" if across is None else "wk_item_across"
    written = functions.written(MAP_SLOTS, slot, expressions.lines, {})
    composer.assembly.helpers[slot] = lambda: written
    assert functions.start is not None
    text, op = functions.start
    entry = loop.names().module.functions["main"]
    return bind(composer, entry, text.origin(op.name_span.begin), vec4=structure.vec4)
