"""The parameter block of a fused shader: words, coordinates, values, and attributes of steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.instances import Offer
from wgsl_kernels.backends.webgpu.composing.text.params import Field
from wgsl_kernels.wgsl.types.layouts import TypeLayouts, round_up
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.wgsl.types.kinds import Type

_TYPES = {"u32": ("u32", 1), "i32": ("i32", 1), "f32": ("f32", 1), "vec2<f32>": ("f32", 2)}


class FieldMaker(Protocol):
    """Where generated text gets its parameters from."""

    def word(self, name: str, type_: str = "u32") -> str:
        """Return the expression of a field that the fact of the same name fills."""

    def words(self, name: str, count: int, pad: int = 0) -> list[str]:
        """Return the expressions of ``count`` words, padded in front."""

    def attribute(self, name: str, type_: Type, step: int, plan: Field) -> str:
        """Return the expression of a step's attribute, which ``plan`` says how to fill."""


@dataclass
class Offered:
    """Fields in the block of a kernel that others are fused into; names begin with ``prefix``."""

    composer: Composer
    prefix: str

    def word(self, name: str, type_: str = "u32") -> str:
        """Return the expression of a field that the fact of the same name fills."""
        return self._offer(self.prefix + name, Offer(type_, self.prefix + name))

    def words(self, name: str, count: int, pad: int = 0) -> list[str]:
        """Return the expressions of ``count`` words, padded in front."""
        if count == 0:
            return []
        return self.composer.slots(self.prefix + name, self.prefix + name, count, pad=pad)

    def attribute(self, name: str, type_: Type, step: int, plan: Field) -> str:
        fact = f"{self.prefix}{step}.{plan.fact}"
        return self._offer(self.prefix + name, Offer(str(type_), fact, plan.pad, plan.constant))

    def _offer(self, name: str, offer: Offer) -> str:
        self.composer.assembly.offers[name] = offer
        return f"{PARAMS}.{name}"


@dataclass
class Fields:
    """Fields in the order in which they were asked for, each once."""

    lines: list[str] = field(default_factory=list[str])
    plan: list[Field] = field(default_factory=list[Field])
    size: int = 0
    _known: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        """Begin with the word that is 0 at run time."""
        self.word("wk_zero", constant=True)

    def word(self, name: str, type_: str = "u32", *, constant: bool = False) -> str:
        """Return the expression of a field that the fact of the same name fills."""
        if name not in self._known:
            scalar, slots = _TYPES[type_]
            at = round_up(self.size, 4 * slots)
            self._add(f"{name}: {type_}", Field(name, name, at, scalar, slots, 0, constant))
            self.size = at + 4 * slots
        return f"{PARAMS}.{name}"

    def words(self, name: str, count: int, pad: int = 0) -> list[str]:
        """Return the expressions of ``count`` words, padded in front."""
        if count == 0:
            return []
        rows = -(-count // 4)
        if name not in self._known:
            at = round_up(self.size, 16)
            one = Field(name, name, at, "u32", 4 * rows, pad)
            self._add(f"{name}: array<vec4<u32>, {rows}>", one)
            self.size = at + 16 * rows
        used = range(4 * rows - count, 4 * rows)
        return [f"{PARAMS}.{name}[{word // 4}].{'xyzw'[word % 4]}" for word in used]

    def attribute(self, name: str, type_: Type, step: int, plan: Field) -> str:
        layout = TypeLayouts(NamedTypes(())).of(type_)
        at = round_up(self.size, layout.align)
        self._known.add(name)
        self.lines.append(f"{name}: {type_}")
        self.plan.append(replace(plan, name=name, fact=f"{step}.{plan.fact}", offset=at))
        self.size = at + layout.size
        return f"{PARAMS}.{name}"

    def declaration(self) -> str:
        return f"struct wk_Params {{ {', '.join(self.lines)} }}\n"

    @property
    def bytes(self) -> int:
        return round_up(self.size, 16)

    def _add(self, line: str, one: Field) -> None:
        self._known.add(one.name)
        self.lines.append(line)
        self.plan.append(one)
