"""The functions of the maps in a fused shader: each kind once, under names of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.maps import choose_op
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly, Generated
from wgsl_kernels.backends.webgpu.composing.text.clashes import COMPOSERS
from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.composer import Composer, common_functions
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceFunction,
    InstanceNames,
    Offer,
)
from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES, Operand
from wgsl_kernels.backends.webgpu.composing.text.slots import fill_slot
from wgsl_kernels.backends.webgpu.composing.text.uniforms import author_fields
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.names.rename import rename, renamed
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit, TextBuilder, WrittenText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function


SKELETON = frozenset({"main"})
"""What the skeleton declares."""


@dataclass
class Functions:
    """The functions of one text.

    Attributes:
        target: The text, which has the parameters.
        prefix: What the names begin with; with one, nothing is shared with the rest of the text.
        pieces: What is quoted: a file, a span, its edits; or generated text alone.
        start: The first op: its file and the function.
    """

    target: Composer
    prefix: str = ""
    pieces: list[tuple[Text, Span, tuple[Edit, ...]] | str] = field(
        default_factory=list["tuple[Text, Span, tuple[Edit, ...]] | str"]
    )
    start: tuple[Text, Function] | None = None
    _declares: list[str] = field(default_factory=list[str])
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
                self.target.assembly.offers[name] = Offer(
                    str(type_),
                    f"{self.prefix}{step}.{plan.fact}",
                    plan.pad,
                    plan.constant,
                    plan.is_exact,
                    plan.is_bounded,
                )
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

        Args:
            slots: The file with the slot that the function fills.
            slot: What it is called there.
            lines: Its body.
            names: What the names in its head are in the text.
        """
        text = TextBuilder()
        for piece in self.pieces:
            if isinstance(piece, str):
                text.generate(piece)
            else:
                text.quote(*piece)
                text.generate("\n")
        naming = InstanceNames({}, {old: partial(str, new) for old, new in names.items()})
        function = fill_slot(slots, slot, lines, naming)
        text.generate(function + "\n")
        found = text.finish()
        return Generated(
            WrittenText(COMPOSED, found.composed.text, found),
            frozenset({*self._declares, names.get(slot, slot)}),
            frozenset({*self._needs, *filter(_is_taken, _WORD.findall(function))}),
            tuple(_FIELD.findall(found.composed.text)),
        )

    def _write(self, composer: Composer, prefix: str, members: dict[str, str]) -> None:
        assembly, source = composer.assembly, composer.source
        assembly.resolve()
        assembly.refuse_unknown(composer.kernel, {"attrs"})
        self._needs |= {*filter(_is_taken, assembly.used)} - source.declared
        special = {d.name for d in source.own.module.declarations if d.name}
        own_written: dict[str, str] = {}
        for name, one in assembly.written.items():
            assert not isinstance(one, Generated), name  # no maps are fused into a kind
            if name not in common_functions():
                text = one.written() if isinstance(one, InstanceFunction) else one.text
                own_written[name] = text
        special |= own_written.keys()
        reached = [(file, d) for file in source.imported for d in assembly.reached[file.text.file]]
        special |= self._not_shared(reached, special)
        new = {name: prefix + name for name in special}
        if self.prefix:
            new |= {d.name: self.prefix + d.name for _, d in reached if d.name not in special}
        own = {name: prefix + name for name in own_written}
        self._declares += own.values()
        self.pieces += [renamed(text, own) + "\n" for text in own_written.values()]
        edits = _edits(source.own, new, members)
        for declaration in assembly.reached[source.file]:
            if declaration.name != "Attrs":
                self.pieces.append((source.own.text, declaration.span, edits))
                self._declares.append(new.get(declaration.name, declaration.name))
        edits_of: dict[str, tuple[Edit, ...]] = {}
        for file, declaration in reached:
            if declaration.name not in special:
                if declaration.name in self._shared:
                    continue
                self._shared[declaration.name] = file.text
            if file.text.file not in edits_of:
                edits_of[file.text.file] = _edits(file, new, members)
            self.pieces.append((file.text, declaration.span, edits_of[file.text.file]))
            self._declares.append(new.get(declaration.name, declaration.name))

    def _not_shared(self, reached: list[tuple[Names, Declaration]], special: set[str]) -> set[str]:
        """Return the imported declarations that this kernel cannot share with the others.

        They depend on its types, or another file has lent the text another of the same name.
        """
        found = {
            d.name
            for file, d in reached
            if d.name in SKELETON
            or d.name in common_functions()
            or d.name.startswith(COMPOSERS)
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


def _edits(names: Names, new: Mapping[str, str], members: Mapping[str, str]) -> tuple[Edit, ...]:
    """Return the edits that rename a file's names, and say ``attrs.<member>`` otherwise."""
    declared = {symbol.name for symbol in names.symbols if symbol.is_global}
    used = {use.ident.name for use in names.uses if use.symbol is None}
    edits = list(rename(names, {old: new[old] for old in new if old in declared | used}))
    for use in names.uses:
        if use.ident.name == "attrs" and use.symbol is None:
            member = _MEMBER.match(names.text.text, use.ident.end)
            if member is None:
                raise ShaderError(
                    names.text.point("attrs: want one of its fields.", use.ident.begin)
                )
            span = Span(use.ident.begin, member.end())
            edits.append(Edit(span, members[member.group(1)]))
    return tuple(sorted(edits, key=lambda one: one.span.begin))


def _is_taken(name: str) -> bool:
    """Say whether a name that nobody declares here is WGSL's, or one that any kernel may call."""
    return is_predeclared(name) or name in common_functions()


_WORD = re.compile(r"[A-Za-z_]\w*")
_FIELD = re.compile(rf"\b{PARAMS}\.(\w+)")
_MEMBER = re.compile(r"\s*\.\s*(\w+)")
