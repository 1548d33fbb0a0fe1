"""The parameter block of a fused shader: words, coordinates, values, and attributes of steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.params import Field
from wgsl_kernels.backends.webgpu.wgsl.types import round_up

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.fusion.functions import Attrs

_SCALARS = {"u32": ("u32", 4, 1), "i32": ("i32", 4, 1), "f32": ("f32", 4, 1)}
_TYPES = {**_SCALARS, "vec2<f32>": ("f32", 8, 2)}


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
            scalar, align, slots = _TYPES[type_]
            at = round_up(self.size, align)
            self._add(f"{name}: {type_}", Field(name, name, at, scalar, slots, 0, constant))
            self.size = at + 4 * slots
        return f"wk_params.{name}"

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
        return [f"wk_params.{name}[{word // 4}].{'xyzw'[word % 4]}" for word in used]

    def attributes(self, attrs: Attrs) -> None:
        """Add a step's struct of attributes."""
        at = round_up(self.size, 16)
        self.lines.append(f"@align(16) @size({attrs.size}) {attrs.name}: {attrs.struct}")
        for one in attrs.fields:
            self.plan.append(replace(one, offset=at + one.offset))
        self.size = at + attrs.size

    def declaration(self) -> str:
        """Return the struct."""
        return f"struct wk_Params {{ {', '.join(self.lines)} }}\n"

    @property
    def bytes(self) -> int:
        """The block's bytes."""
        return round_up(self.size, 16)

    def _add(self, line: str, one: Field) -> None:
        self._known.add(one.name)
        self.lines.append(line)
        self.plan.append(one)
