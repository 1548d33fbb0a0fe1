"""The expressions of a fused shader: loads of leaves, calls of ops, values across seams held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composer import VALUE_FIELDS, element_at
from wgsl_kernels.backends.webgpu.composing.text.indexing import dot, unravel
from wgsl_kernels.backends.webgpu.composing.text.operands import STORAGE_TYPES
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.composing.groups.fields import FieldMaker
    from wgsl_kernels.backends.webgpu.composing.groups.functions import Functions
    from wgsl_kernels.backends.webgpu.composing.text.structure import Across, Leaf, Ref, Structure
    from wgsl_kernels.engine.values.dtypes import DType

LANES = "xyzw"
_HOLDS = {"float32": "hold", "float16": "wk_hold_f16", "complex64": "wk_hold_vec2"}


@dataclass
class GroupExpressions:
    """Statements that compute a structure's steps for the item ``wk_i``.

    Attributes:
        array: Gives the variable of a leaf that is bound.
        lines: The statements.
        across: The axis of which ``wk_row`` is the coordinate, ``wk_outer`` and ``wk_place`` being
            the indices over what comes before and after it.
    """

    structure: Structure
    functions: Functions
    fields: FieldMaker
    array: Callable[[int], str]
    lines: list[str] = field(default_factory=list[str])
    across: Across | None = None
    _coordinates: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    @property
    def lanes(self) -> int:
        """Elements of an item."""
        return 4 if self.structure.vec4 else 1

    def compute(self) -> list[list[str]]:
        """Write the statements; return the names of each step's values, one per lane."""
        leaves = [self._load(number, leaf) for number, leaf in enumerate(self.structure.leaves)]
        values: list[list[str]] = []
        for number, step in enumerate(self.structure.steps):
            op, function = self.functions.add(step.kind, number)
            by_name = dict(zip(step.kind.names, step.operands, strict=True))
            by_name |= {f"{name}_": ref for name, ref in by_name.items()}
            dtypes = dict(zip(step.kind.names, step.kind.dtypes, strict=True))
            dtypes |= {f"{name}_": dtype for name, dtype in dtypes.items()}
            names: list[str] = []
            for lane in range(self.lanes):
                seen: set[Ref] = set()
                arguments: list[str] = []
                for parameter in function.parameters:
                    ref = by_name.get(parameter.name)
                    if ref is None:
                        arguments.append(f"wk_i * {self.lanes}u + {lane}u")
                        continue
                    source = leaves[~ref] if ref < 0 else values[ref]
                    value = source[lane]
                    if ref in seen:
                        value = self._held(value, dtypes[parameter.name])
                    seen.add(ref)
                    arguments.append(value)
                name = f"wk_s{number}{LANES[lane]}"
                call = self._held(f"{op}({', '.join(arguments)})", step.kind.output)
                self.lines.append(f"let {name} = {call};")
                names.append(name)
            values.append(names)
        return values

    def stored(self, values: list[str], dtype: DType) -> str:
        """Return the expression that is written for an item."""
        if dtype == "bool":
            values = [f"u32({value})" for value in values]
        if self.lanes == 1:
            return values[0]
        return f"vec4<{STORAGE_TYPES[dtype]}>({', '.join(values)})"

    def _held(self, value: str, dtype: DType) -> str:
        name = _HOLDS.get(dtype)
        if name is None:
            return value
        self.functions.need(name)
        return f"{name}({value})"

    def _load(self, number: int, leaf: Leaf) -> list[str]:
        """Write what loads a leaf; return the expressions of its lanes."""
        if leaf.mode == "value":
            return [self._value(number, leaf)] * self.lanes
        if leaf.mode == "given":
            lanes = ["wk_given"] if self.lanes == 1 else [f"wk_given.{lane}" for lane in LANES]
            if leaf.dtype == "bool":
                return [f"({lane} != 0u)" for lane in lanes]
            return [self._held(lane, leaf.dtype) for lane in lanes]
        array, name = self.array(number), f"wk_v{number}"
        if leaf.dtype in BYTES:
            self.functions.need(f"wk_{leaf.dtype}")
        if leaf.mode == "flat":
            raw = self._item(array, name, leaf.dtype, "wk_i")
        else:
            coordinates = self._space(leaf.space)
            strides = self.fields.words(f"wk_t{number}", len(coordinates))
            offset = self.fields.word(f"wk_o{number}")
            place = dot(coordinates, strides, offset)
            if leaf.mode == "gather":
                step = self.fields.word(f"wk_g{number}")
                self.lines.append(f"let wk_p{number} = {place};")
                places = [f"wk_p{number} + {lane}u * {step}" for lane in range(4)]
                raw = [f"{name}{lane}" for lane in LANES]
                for one, where in zip(raw, places, strict=True):
                    self.lines.append(f"let {one} = {element_at(array, leaf.dtype, where)};")
            elif leaf.mode == "wide":
                raw = self._item(array, name, leaf.dtype, place)
            else:
                self.lines.append(f"let {name} = {element_at(array, leaf.dtype, place)};")
                raw = [name] * self.lanes
        return [f"({one} != 0u)" for one in raw] if leaf.dtype == "bool" else raw

    def _item(self, array: str, name: str, dtype: DType, place: str) -> list[str]:
        """Write what loads the item at a place; return the expressions of its lanes."""
        if self.lanes == 1:
            self.lines.append(f"let {name} = {element_at(array, dtype, place)};")
            return [name]
        self.lines.append(f"let {name} = {array}[{place}];")
        if dtype in BYTES:  # the four are one word
            return [f"wk_{dtype}({name}, {lane}u)" for lane in range(self.lanes)]
        return [f"{name}.{lane}" for lane in LANES]

    def _value(self, number: int, leaf: Leaf) -> str:
        expression = self.fields.word(f"wk_x{number}", VALUE_FIELDS[leaf.dtype])
        if leaf.dtype == "float16":
            return f"f16({expression})"
        return f"({expression} != 0u)" if leaf.dtype == "bool" else expression

    def _space(self, space: int) -> list[str]:
        """Return the item's coordinates in one system, found once."""
        if space not in self._coordinates:
            sizes = self.fields.words(f"wk_n{space}", self.structure.spaces[space], pad=1)
            prefix, across = f"wk_c{space}_", self.across
            quotient = "{} / {}"
            if self.structure.few and len(sizes) > 1:
                self.functions.need("wk_quotient")
                quotient = "wk_quotient({}, {})"
            if across is not None and across.space == space:
                lines, outer = unravel("wk_outer", sizes[: across.axis], f"{prefix}o", quotient)
                after = sizes[across.axis + 1 :]
                more, inner = unravel("wk_place", after, f"{prefix}i", quotient)
                self.lines += lines + more
                names = [*outer, "wk_row", *inner]
            else:
                lines, names = unravel("wk_i", sizes, prefix, quotient)
                self.lines += lines
            self._coordinates[space] = names
        return self._coordinates[space]
