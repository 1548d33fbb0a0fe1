"""The functions of the maps in a fused shader: each kind once, under names of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.assembly import Assembly
from wgsl_kernels.backends.webgpu.composed import PARAMS
from wgsl_kernels.backends.webgpu.composer import COMMON_FUNCTIONS, Composer
from wgsl_kernels.backends.webgpu.maps import choose_op
from wgsl_kernels.backends.webgpu.operands import OP_NAMES, Operand
from wgsl_kernels.backends.webgpu.uniforms import author_fields
from wgsl_kernels.backends.webgpu.wgsl.rename import rename, renamed
from wgsl_kernels.backends.webgpu.wgsl.resolve import resolve
from wgsl_kernels.backends.webgpu.wgsl.types import round_up

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.fusion.structure import Kind
    from wgsl_kernels.backends.webgpu.params import Field
    from wgsl_kernels.backends.webgpu.wgsl.facts import Declaration, Facts, Function
    from wgsl_kernels.backends.webgpu.wgsl.places import Span, Text
    from wgsl_kernels.backends.webgpu.wgsl.source_map import Composition, Edit


SKELETON = frozenset({"GROUP", "main"})
"""What the skeleton declares."""


@dataclass(frozen=True, slots=True)
class Attrs:
    """A step's attributes in the parameter block: ``struct`` at a multiple of 16 bytes."""

    name: str
    struct: str
    fields: tuple[Field, ...]
    size: int


@dataclass
class Functions:
    """The functions of one text.

    Attributes:
        common: Generated functions that any kernel may share, by name.
        pieces: What is quoted: a file, a span, its edits; or generated text alone.
    """

    common: dict[str, str] = field(default_factory=dict[str, str])
    pieces: list[tuple[Text, Span, tuple[Edit, ...]] | str] = field(
        default_factory=list["tuple[Text, Span, tuple[Edit, ...]] | str"]
    )
    _shared: dict[str, Text] = field(default_factory=dict[str, "Text"])
    _copies: dict[object, tuple[str, Function]] = field(
        default_factory=dict[object, "tuple[str, Function]"]
    )
    start: tuple[Text, Function] | None = None

    def add(self, kind: Kind, step: int) -> tuple[str, Function, Attrs | None]:
        """Have the functions of ``kind`` written.

        Returns:
            The name under which its ``op`` is called, the author's op, and the step's attributes:
            a kind with attributes is copied for each step.
        """
        struct = kind.source.structs.get("Attrs")
        key = kind.key if struct is None else (kind.key, step)
        if key in self._copies:
            return (*self._copies[key], None)
        composer, op = _composer(kind)
        prefix = f"k{len(self._copies)}_"
        attrs = None
        new: dict[str, str] = {}
        if struct is not None:
            offsets, layout = composer.types.members(struct.fields)
            name = f"a{step}"
            fields = author_fields(composer, struct, offsets)
            own = tuple(replace(one, fact=f"{step}.{one.fact}") for one in fields)
            attrs = Attrs(name, f"{prefix}Attrs", own, round_up(layout.size, 16))
            new["attrs"] = f"{PARAMS}.{name}"
        self._write(composer, prefix, new)
        if self.start is None:
            self.start = (kind.source.text_of(op), op)
        self._copies[key] = (prefix + op.name, op)
        return prefix + op.name, op, attrs

    def quote(self, text: Composition) -> None:
        """Append everything."""
        for written in self.common.values():
            text.generate(written + "\n")
        for piece in self.pieces:
            if isinstance(piece, str):
                text.generate(piece)
            else:
                text.quote(*piece)
                text.generate("\n")

    def need(self, name: str) -> None:
        """Have a common function written for generated text."""
        for one in ("hold", name):
            self.common.setdefault(one, COMMON_FUNCTIONS[one])

    def _write(self, composer: Composer, prefix: str, new: dict[str, str]) -> None:
        assembly, source = composer.assembly, composer.source
        assembly.resolve()
        own = {d.name for d in source.facts.declarations if d.name}
        special = (
            {name for name in assembly.written if name not in COMMON_FUNCTIONS} | own | new.keys()
        )
        for name in assembly.written.keys() & COMMON_FUNCTIONS.keys():
            self.common[name] = assembly.written[name]
        reached = [(facts, d) for facts in source.included for d in assembly.reached[facts.file]]
        special |= self._not_shared(reached, special)
        new |= {name: prefix + name for name in special - new.keys()}
        for name, written in assembly.written.items():
            if name not in COMMON_FUNCTIONS:
                self.pieces.append(renamed(written, new) + "\n")
        edits = rename(resolve(source.facts.text), new)
        for declaration in source.facts.declarations:
            if not any(declaration is one for one in assembly.dropped):
                self.pieces.append((source.facts.text, declaration.span, edits))
        for facts, declaration in reached:
            if declaration.name in special:
                edits = rename(resolve(facts.text), new)
                self.pieces.append((facts.text, declaration.span, edits))
            elif declaration.name not in self._shared:
                self._shared[declaration.name] = facts.text
                self.pieces.append((facts.text, declaration.span, ()))

    def _not_shared(self, reached: list[tuple[Facts, Declaration]], special: set[str]) -> set[str]:
        """Return the included declarations that this kernel cannot share with the others.

        They depend on its types, or another file has lent the text another of the same name.
        """
        found = {
            d.name
            for facts, d in reached
            if d.name in SKELETON or self._shared.get(d.name, facts.text) is not facts.text
        }
        while True:
            more = {d.name for _, d in reached if d.needs & (special | found)} - found
            if not more:
                return found
            found |= more


def _composer(kind: Kind) -> tuple[Composer, Function]:
    """Return the composer of one kind, and its op; the other ops are dropped."""
    operands = zip(kind.names, kind.dtypes, strict=True)
    inputs = tuple(Operand(name, dtype, 1) for name, dtype in operands)
    output = Operand(kind.output_name, kind.output, 1)
    assembly = Assembly(kind.source, None)
    composer = Composer(kind.kernel, "map", inputs, (output,), kind.attrs, {}, assembly)
    op = choose_op(kind.kernel, kind.source, (inputs[0] if inputs else output).dtype)
    declarations = kind.source.facts.declarations
    assembly.dropped += [d for d in declarations if d.name in OP_NAMES - {op.name}]
    return composer, op
