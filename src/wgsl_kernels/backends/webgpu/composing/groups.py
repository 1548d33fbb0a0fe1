"""Composing groups of maps: into one shader, or fused into another kernel.

A kernel that reads an input through its accessors may be given a group of maps in its place; one
that writes through them may hand each element on to a group, as its one ``given`` leaf.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.expressions import GroupExpressions, held
from wgsl_kernels.backends.webgpu.composing.forms.maps import MAP_SLOTS, add_item
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly, Generated, part_of
from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer, common_functions
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    TENSORS,
    InstanceNames,
    fill_slot,
)
from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES, Operand, choose_op
from wgsl_kernels.backends.webgpu.composing.text.structure import AFTER, OWN, prefix_of
from wgsl_kernels.backends.webgpu.composing.text.uniforms import author_fields
from wgsl_kernels.backends.webgpu.modules.kernel_source import declared_as_vec4
from wgsl_kernels.wgsl.linking.joining import Excerpt, joined, members_of
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import Edit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.structure import (
        Across,
        After,
        Before,
        Kind,
        Structure,
    )
    from wgsl_kernels.wgsl.linking.joining import Part
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function


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
    for output, number in zip(structure.writes(AFTER), structure.outputs, strict=True):
        expressions.store(output, values[number])
    slot = "wk_hand_on4" if structure.vec4 else "wk_hand_on"
    names = {slot: "wk_hand_on", "wk_Stored": operand.storage_type}
    return functions.written(TENSORS, slot, expressions.lines, names)


def expressions_of(
    composer: Composer, structure: Structure, functions: Functions, prefix: str
) -> GroupExpressions:
    reads = structure.reads(prefix)
    return GroupExpressions(structure, composer, reads, functions.add, prefix)


def add_group(
    composer: Composer, structure: Structure, across: Across | None
) -> tuple[Text, Function]:
    """Add to ``composer`` the maps of a group; return the first one's file and op."""
    functions = Functions(composer)
    expressions = expressions_of(composer, structure, functions, OWN)
    expressions.across = across
    add_item(expressions, partial(functions.written, MAP_SLOTS, names={}))
    assert functions.start is not None
    return functions.start


# The functions of the maps in a fused shader: each kind once, under names of its own.


SKELETON = frozenset({"main"})
"""What the skeleton declares."""


@dataclass
class Functions:
    """The functions of one text.

    Attributes:
        prefix: What the names begin with; with one, nothing is shared with the rest of the text.
        start: The first op: its file and the function.
    """

    target: Composer
    prefix: str = ""
    parts: list[Part] = field(default_factory=list["Part"])
    start: tuple[Text, Function] | None = None
    _needs: set[str] = field(default_factory=set[str])
    _shared: dict[str, Text] = field(default_factory=dict[str, "Text"])
    _copies: dict[object, tuple[str, Function]] = field(
        default_factory=dict[object, "tuple[str, Function]"]
    )

    def add(self, kind: Kind, step: int) -> tuple[str, Function]:
        """Have the functions of ``kind`` written; one with attributes is copied for each step.

        Returns:
            The name under which its ``op`` is called, and the author's op.
        """
        struct = kind.source.structs.get("Attrs")
        key = kind.key if struct is None else (kind.key, step)
        if key in self._copies:
            return self._copies[key]
        self.target.dtypes |= {*kind.dtypes, kind.output}
        composer, op = _composer(kind)
        members: dict[str, str] = {}
        if struct is not None:
            offsets, _ = composer.layouts.members(struct.fields)
            planned = author_fields(composer, struct, offsets)
            for member, plan in zip(struct.fields, planned, strict=True):
                type_ = composer.types.of(member.type)
                assert type_ is not None, member.name  # else nothing could fill it
                name = f"{self.prefix}a{step}_{member.name}"
                members[member.name] = f"{PARAMS}.{name}"
                fact = f"{self.prefix}{step}.{plan.offer.fact}"
                offer = replace(plan.offer, type=str(type_), fact=fact)
                self.target.assembly.offers[name] = offer
        prefix = f"{self.prefix}k{len(self._copies)}_"
        self._write(composer, prefix, members)
        if self.start is None:
            self.start = (kind.source.text_of(op), op)
        self._copies[key] = (prefix + op.name, op)
        return self._copies[key]

    def written(
        self, slots: str, slot: str, lines: Sequence[str], names: Mapping[str, str]
    ) -> Generated:
        """Return everything, and behind it the function of generated lines that calls it.

        The function fills ``slot`` of the file ``slots``; ``names`` has what the names in its head
        are in the text.
        """
        naming = InstanceNames({}, {old: partial(str, new) for old, new in names.items()})
        function = fill_slot(slots, slot, lines, naming)
        found = joined([*self.parts, function + "\n"], names.get(slot, slot))
        return Generated(
            found,
            frozenset({*self._needs, *filter(_is_taken, _WORD.findall(function))}),
            tuple(_FIELD.findall(found.text.text)),
        )

    def _write(self, composer: Composer, prefix: str, members: dict[str, str]) -> None:
        assembly, source = composer.assembly, composer.source
        assembly.resolve()
        assembly.refuse_unknown(composer.kernel, {"attrs"})
        self._needs |= {*filter(_is_taken, assembly.used)} - source.declared
        written = {k: v for k, v in assembly.written.items() if k not in common_functions()}
        special = {d.name for d in source.own.module.declarations if d.name} | written.keys()
        reached = [(file, d) for file in source.imported for d in assembly.reached[file.text.file]]
        special |= self._not_shared(reached, special)
        new = {name: prefix + name for name in special}
        if self.prefix:
            new |= {d.name: self.prefix + d.name for _, d in reached if d.name not in special}
        self.parts += [part_of(one, new) for one in written.values()]
        own = [one for one in assembly.reached[source.file] if one.name != "Attrs"]
        self.parts.append(_excerpt(source.own, own, new, members))
        for file in source.imported:
            taken: list[Declaration] = []
            for one in assembly.reached[file.text.file]:
                if one.name in special or one.name not in self._shared:
                    taken.append(one)
                    if one.name not in special:
                        self._shared[one.name] = file.text
            self.parts.append(_excerpt(file, taken, new, members))

    def _not_shared(self, reached: list[tuple[Names, Declaration]], special: set[str]) -> set[str]:
        """Return the imported declarations that this kernel cannot share with the others.

        They depend on its types, or another file has lent the text another of the same name.
        """
        found = {
            d.name
            for file, d in reached
            if d.name in SKELETON
            or d.name in common_functions()
            or d.name.startswith("wk_")
            or is_predeclared(d.name)
            or self._shared.get(d.name, file.text) is not file.text
        }
        users: dict[str, list[str]] = {}
        for file, declaration in reached:
            for name in file.needs_of(declaration):
                users.setdefault(name, []).append(declaration.name)
        pending = [*special, *found]
        while pending:
            more = {name for name in users.pop(pending.pop(), ()) if name not in found}
            found |= more
            pending += more
        return found


def _composer(kind: Kind) -> tuple[Composer, Function]:
    """Return the composer of one kind, and its op; the other ops are dropped."""
    operands = zip(kind.names, kind.dtypes, strict=True)
    inputs = tuple(Operand(name, dtype, 1) for name, dtype in operands)
    output = Operand(kind.output_name, kind.output, 1)
    assembly = Assembly(kind.source, None)
    composer = Composer(kind.kernel, "map", inputs, (output,), kind.attrs, {}, assembly)
    op = choose_op(kind.kernel, kind.source, (inputs[0] if inputs else output).dtype)
    assembly.drop(OP_NAMES - {op.name})
    return composer, op


def _excerpt(
    names: Names,
    declarations: Sequence[Declaration],
    new: Mapping[str, str],
    members: Mapping[str, str],
) -> Excerpt:
    """Return declarations of a file under new names, where ``attrs.<member>`` has another, too."""
    found = members_of(names, "attrs")
    changes = [Edit(Span(one.begin, span.end), members[member]) for one, member, span in found]
    return Excerpt(names, declarations, new, changes)


def _is_taken(name: str) -> bool:
    """Say whether a name that nobody declares here is WGSL's, or one that any kernel may call."""
    return is_predeclared(name) or name in common_functions()


_WORD = re.compile(r"[A-Za-z_]\w*")
_FIELD = re.compile(rf"\b{PARAMS}\.(\w+)")
