"""What computes an item of maps: loads of leaves, calls of ops, values held between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.operands import BOUND_TYPES
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.composing.text.structure import Across, Kind, Leaf, Structure
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.wgsl.syntax.tree import Function

LANES = "xyzw"
FEW = 1 << 20
"""Up to so many indices ``wk_quotient`` divides them."""
_HOLDS = {"float32": "hold", "float16": "wk_hold_f16", "complex64": "wk_hold_vec2"}


@dataclass
class GroupExpressions:
    """Statements that compute a structure's steps for the item ``wk_i``.

    Attributes:
        operands: The leaves that are arrays or numbers, by their numbers.
        function_of: Gives what a step's op is called in the text, and the author's op.
        prefix: What the names of coordinate systems begin with.
        held: The leaves that are the same array as another, which no compiler shall see.
        first: What an element's index is counted from, where it is not the item's.
        place: Where an item of a flat leaf is.
        across: The axis of which ``wk_row`` is the coordinate, ``wk_outer`` and ``wk_place`` being
            the indices over what comes before and after it.
    """

    structure: Structure
    composer: Composer
    operands: Mapping[int, Operand]
    function_of: Callable[[Kind, int], tuple[str, Function]]
    prefix: str
    held: frozenset[int] = frozenset()
    first: str = ""
    place: str = "wk_i"
    across: Across | None = None
    lines: list[str] = field(default_factory=list[str])
    _coordinates: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    @property
    def lanes(self) -> int:
        return 4 if self.structure.vec4 else 1

    def compute(self) -> list[list[str]]:
        """Write the statements; return the expressions of each step's values, one per lane."""
        leaves = [self._load(number, leaf) for number, leaf in enumerate(self.structure.leaves)]
        values: list[list[str]] = []
        read = {ref for step in self.structure.steps for ref in step.operands}
        for number, step in enumerate(self.structure.steps):
            op, function = self.function_of(step.kind, number)
            by_name = dict(zip(step.kind.names, step.operands, strict=True))
            by_name |= {f"{name}_": ref for name, ref in by_name.items()}
            dtypes = dict(zip(step.kind.names, step.kind.dtypes, strict=True))
            dtypes |= {f"{name}_": dtype for name, dtype in dtypes.items()}
            found: list[str] = []
            for lane in range(self.lanes):
                met = {~number for number in self.held}
                arguments: list[str] = []
                for parameter in function.parameters:
                    ref = by_name.get(parameter.name)
                    if ref is None:
                        arguments.append(self._index(lane))
                        continue
                    source = leaves[~ref] if ref < 0 else values[ref]
                    value = source[lane]
                    if ref in met:
                        value = held(value, dtypes[parameter.name])
                    met.add(ref)
                    arguments.append(value)
                found.append(f"{op}({', '.join(arguments)})")
            values.append(self._named(number, found) if number in read else found)
        return values

    def _named(self, number: int, calls: list[str]) -> list[str]:
        names = [f"wk_s{number}{lane}" for lane in LANES[: self.lanes]]
        for name, call in zip(names, calls, strict=True):
            value = held(call, self.structure.steps[number].kind.output)
            self.lines.append(f"let {name} = {value};")
        return names

    def store(self, output: Operand, values: list[str]) -> None:
        if output.dtype == "bool":
            values = [f"u32({value})" for value in values]
        element = self.element(output.storage_type)
        stored = values[0] if self.lanes == 1 else f"{element}({', '.join(values)})"
        array = self.composer.variable(output, element)
        self.lines.append(f"{array}[{self.place}] = {stored};")

    def element(self, type_: str) -> str:
        return type_ if self.lanes == 1 else f"vec4<{type_}>"

    def _index(self, lane: int = 0) -> str:
        if self.lanes == 1:
            return f"({self.first} + wk_i)" if self.first else "wk_i"
        index = f"wk_i * 4u + {lane}u"
        return f"{self.first} + {index}" if self.first else index

    def _load(self, number: int, leaf: Leaf) -> list[str]:
        """Write what loads a leaf; return the expressions of its lanes."""
        if leaf.mode == "given":
            lanes = ["wk_given"] if self.lanes == 1 else [f"wk_given.{lane}" for lane in LANES]
            if leaf.dtype == "bool":
                return [f"({lane} != 0u)" for lane in lanes]
            return [held(lane, leaf.dtype) for lane in lanes]
        operand = self.operands[number]
        if leaf.mode == "value":
            return [self._value(operand)] * self.lanes
        name = f"wk_v{number}"
        if leaf.mode == "flat":
            raw = self._item(operand, leaf, name, self.place)
        else:
            coordinates = self._space(leaf.space)
            strides = self._words(f"{self._own(operand)}_strides", len(coordinates))
            place = dot(coordinates, strides, self._word(f"{self._own(operand)}_offset"))
            if leaf.mode == "wide":
                raw = self._item(operand, leaf, name, place)
            elif leaf.mode == "gather":
                step = self._word(f"{self._own(operand)}_step")
                self.lines.append(f"let wk_p{number} = {place};")
                raw = [f"{name}{lane}" for lane in LANES]
                for lane, one in enumerate(raw):
                    self._element(operand, one, f"wk_p{number} + {lane}u * {step}")
            else:
                self._element(operand, name, place)
                raw = [name] * self.lanes
        return [f"({one} != 0u)" for one in raw] if leaf.dtype == "bool" else raw

    def _item(self, operand: Operand, leaf: Leaf, name: str, place: str) -> list[str]:
        """Write what loads the item at a place; return the expressions of its lanes."""
        if self.lanes == 1:
            self._element(operand, name, place)
            return [name]
        is_word = leaf.dtype in BYTES  # which holds all four
        type_ = BOUND_TYPES[leaf.dtype]
        array = self.composer.variable(operand, type_ if is_word else f"vec4<{type_}>")
        self.lines.append(f"let {name} = {array}[{place}];")
        if is_word:
            return [f"wk_{leaf.dtype}({name}, {lane}u)" for lane in range(4)]
        return [f"{name}.{lane}" for lane in LANES]

    def _element(self, operand: Operand, name: str, place: str) -> None:
        """Write what loads one element, out of its word where that holds four."""
        array = self.composer.variable(operand)
        element = f"{array}[{place}]"
        if operand.dtype in BYTES:
            element = f"wk_{operand.dtype}({array}[({place}) / 4u], {place})"
        self.lines.append(f"let {name} = {element};")

    def _value(self, operand: Operand) -> str:
        value = self.composer.value(operand, f"{self._own(operand)}_value")
        is_word = operand.dtype == "bool" and self.composer.form == "free"
        return f"({value} != 0u)" if is_word else value

    def _own(self, operand: Operand) -> str:
        """Return what the names of a leaf's parameters begin with."""
        return operand.name if operand.name.startswith("wk_") else f"wk_{operand.name}"

    def _word(self, name: str) -> str:
        return self.composer.word(name, name)

    def _words(self, name: str, count: int, pad: int = 0) -> list[str]:
        return self.composer.slots(name, name, count, pad=pad)

    def _space(self, space: int) -> list[str]:
        """Return the item's coordinates in one system, found once."""
        if space not in self._coordinates:
            sizes = self._words(f"{self.prefix}space{space}", self.structure.spaces[space], pad=1)
            prefix, across = f"wk_c{space}_", self.across
            is_quick = self.structure.few and len(sizes) > 1
            quotient = "wk_quotient({}, {})" if is_quick else "{} / {}"
            if across is not None and across.space == space:
                lines, outer = unravel("wk_outer", sizes[: across.axis], f"{prefix}o", quotient)
                after = sizes[across.axis + 1 :]
                more, inner = unravel("wk_place", after, f"{prefix}i", quotient)
                self.lines += lines + more
                names = [*outer, "wk_row", *inner]
            else:
                index = "wk_i" if self.lanes == 4 else self._index()
                lines, names = unravel(index, sizes, prefix, quotient)
                self.lines += lines
            self._coordinates[space] = names
        return self._coordinates[space]


def held(value: str, dtype: DType) -> str:
    """Return a value that no compiler joins with what it is made of, or what is made of it."""
    return f"{_HOLDS[dtype]}({value})" if dtype in _HOLDS else value


def unravel(
    index: str, sizes: Sequence[str], prefix: str, quotient: str = "{} / {}"
) -> tuple[list[str], list[str]]:
    """Return statements that split ``index`` row-major, and the names of the coordinates.

    ``index`` is without side effects; ``sizes`` begin with the outermost axis. ``quotient`` is how
    one index is divided by another.
    """
    names = [f"{prefix}{axis}" for axis in range(len(sizes))]
    lines: list[str] = []
    rest = index
    for axis in range(len(sizes) - 1, 0, -1):
        above = f"{prefix}q{axis}"
        lines.append(f"let {above} = {quotient.format(rest, sizes[axis])};")
        lines.append(f"let {names[axis]} = {rest} - {above} * {sizes[axis]};")
        rest = above
    if names:
        lines.append(f"let {names[0]} = {rest};")
    return lines, names


def dot(coordinates: Sequence[str], strides: Sequence[str], offset: str = "") -> str:
    terms = [offset] if offset else []
    terms += [f"{c} * {s}" for c, s in zip(coordinates, strides, strict=True)]
    return " + ".join(terms) or "0u"
