"""Fusing maps into other kernels: what they read is computed first, what they write goes on.

A kernel that reads an input through its accessors may be given a group of maps in its place; one
that writes through them may hand each element on to a group, as its one ``given`` leaf.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.accessors import declared_as_vec4
from wgsl_kernels.backends.webgpu.composing.groups.expressions import GroupExpressions
from wgsl_kernels.backends.webgpu.composing.groups.fields import Offered
from wgsl_kernels.backends.webgpu.composing.groups.functions import Functions
from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceNames
from wgsl_kernels.backends.webgpu.composing.text.operands import BOUND_TYPES, Operand
from wgsl_kernels.backends.webgpu.composing.text.slots import TENSORS, fill_slot
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, TextBuilder, WrittenText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.structure import After, Before, Structure
    from wgsl_kernels.wgsl.syntax.places import Text


def prefix_of(name: str) -> str:
    """Return what names of a group begin with that stands for the input ``name``."""
    return f"wk_{name}_"


AFTER = "wk_after_"


def leaves_of(structure: Structure, prefix: str) -> tuple[Operand, ...]:
    """Return a group's leaves as operands of the kernel that it is fused into."""
    return tuple(
        Operand(f"{prefix}l{number}", leaf.dtype, 1)
        for number, leaf in enumerate(structure.leaves)
        if leaf.is_bound
    )


def outputs_of(structure: Structure, prefix: str) -> tuple[Operand, ...]:
    """Return what a group writes as operands of the kernel that it is fused into."""
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


def _computed(composer: Composer, before: Before, operand: Operand) -> Text:
    """Return the function that computes one item of an input: its index to the value."""
    structure, prefix = before.structure, prefix_of(before.name)
    expressions = _expressions(composer, structure, prefix)
    values = expressions.compute()[structure.outputs[0]]
    type_ = composer.element_type(operand)
    if operand.dtype == "bool" and composer.form == "free":
        values = [f"u32({value})" for value in values]
    result = values[0] if len(values) == 1 else f"vec4<{type_}>({', '.join(values)})"
    lines = [*expressions.lines, f"return {result};"]
    slot, name = "wk_get_X" if len(values) == 1 else "wk_get4_X", f"wk_get_{operand.wgsl}"
    return _written(expressions, slot, lines, {slot: name, "T_X": type_})


def _epilogue_function(composer: Composer, after: After, operand: Operand) -> Text:
    """Return the function that takes the index and value of one item that a kernel writes.

    The value is of the type in which buffers have it.
    """
    structure = after.structure
    expressions = _expressions(composer, structure, AFTER)
    values = expressions.compute()
    lines = expressions.lines
    if after.keeps:
        in_parts = not structure.vec4 and declared_as_vec4(composer.source, operand.name)
        place = "wk_i / 4u][wk_i % 4u" if in_parts else "wk_i"
        lines.append(f"{composer.variable(operand)}[{place}] = wk_given;")
    for output, number in zip(outputs_of(structure, AFTER), structure.outputs, strict=True):
        stored = expressions.stored(values[number], output.dtype)
        element = _element(structure, output.storage_type)
        lines.append(f"{composer.variable(output, element)}[wk_i] = {stored};")
    slot = "wk_hand_on4" if structure.vec4 else "wk_hand_on"
    names = {slot: "wk_hand_on", "wk_Stored": operand.storage_type}
    return _written(expressions, slot, lines, names)


def _written(
    expressions: GroupExpressions, slot: str, lines: list[str], names: Mapping[str, str]
) -> Text:
    """Return a function of generated lines, behind those of the maps, which keep their places."""
    naming = InstanceNames({}, {old: partial(str, new) for old, new in names.items()})
    text = TextBuilder()
    expressions.functions.quote_own(text)
    text.generate(fill_slot(TENSORS, slot, lines, naming) + "\n")
    found = text.finish()
    return WrittenText(COMPOSED, found.composed.text, found)


def _element(structure: Structure, type_: str) -> str:
    return f"vec4<{type_}>" if structure.vec4 else type_


def _expressions(composer: Composer, structure: Structure, prefix: str) -> GroupExpressions:
    fields = Offered(composer, prefix)
    functions = Functions(fields, prefix)
    operands = {one.name: one for one in leaves_of(structure, prefix)}

    def array(number: int) -> str:
        leaf = structure.leaves[number]
        element = BOUND_TYPES[leaf.dtype]
        is_word = leaf.dtype in BYTES  # which holds all four
        wide = structure.vec4 and leaf.mode in ("flat", "wide") and not is_word
        operand = operands[f"{prefix}l{number}"]
        return composer.variable(operand, f"vec4<{element}>" if wide else element)

    return GroupExpressions(structure, functions, fields, array)
