"""Sizes and alignments of types, in bytes.

Source: WebGPU Shading Language, section 14.4.1, alignment and size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.tree import Alias, Name
from wgsl_kernels.wgsl.types.constants import NotConstantError
from wgsl_kernels.wgsl.types.kinds import Array, Atomic, Matrix, Scalar, StructType, Type, Vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.wgsl.syntax.tree import Expression, Parameter
    from wgsl_kernels.wgsl.types.named import NamedTypes

SCALARS: Mapping[str, int] = {"f32": 4, "i32": 4, "u32": 4, "bool": 4, "f16": 2}


class UnknownTypeError(Exception):
    """A type's size cannot be told; the message names the type."""


@dataclass(frozen=True, slots=True)
class TypeLayout:
    """Size and alignment of one type, in bytes."""

    size: int
    align: int

    @property
    def stride(self) -> int:
        """The distance of two such elements in an array."""
        return round_up(self.size, self.align)


class TypeLayouts:
    """The layouts of types, those that a module names among them."""

    def __init__(self, types: NamedTypes) -> None:
        self.types = types
        self._structs: dict[str, TypeLayout | None] = {}

    def written(self, written: Expression | str) -> TypeLayout:
        """Return the layout of a type as it is written.

        Raises:
            UnknownTypeError: It has no fixed size, or a name in it is not known.
        """
        node = parse_expression(written) if isinstance(written, str) else written
        if node is None:
            raise UnknownTypeError(str(written))
        type_ = self.types.of(node)
        if type_ is None:
            raise UnknownTypeError(spell(self._unknown(node)))
        return self.of(type_)

    def of(self, type_: Type) -> TypeLayout:
        """Return the layout of a type.

        Raises:
            UnknownTypeError: It has no fixed size.
        """
        if isinstance(type_, Scalar) and type_.name in SCALARS:
            return TypeLayout(SCALARS[type_.name], SCALARS[type_.name])
        if isinstance(type_, Vector):
            return _vector(self.of(type_.element), type_.size)
        if isinstance(type_, Matrix):
            column = _vector(self.of(type_.element), type_.rows)
            return TypeLayout(column.stride * type_.columns, column.align)
        if isinstance(type_, Atomic):
            return self.of(type_.element)
        if isinstance(type_, Array) and type_.count is not None:
            element = self.of(type_.element)
            return TypeLayout(element.stride * self._count(type_), element.align)
        if isinstance(type_, StructType):
            if type_.name not in self._structs:
                self._structs[type_.name] = None  # what contains itself has no size
                try:
                    self._structs[type_.name] = self.members(self.types.fields(type_))[1]
                except UnknownTypeError:
                    del self._structs[type_.name]  # it is told again what is not known
                    raise
            found = self._structs[type_.name]
            if found is not None:
                return found
        raise UnknownTypeError(str(type_))

    def members(self, fields: Sequence[Parameter]) -> tuple[tuple[int, ...], TypeLayout]:
        """Return the offsets of a struct's fields, and the whole struct's layout.

        Raises:
            UnknownTypeError: One of them has no fixed size, or a name in it is not known.
        """
        offsets: list[int] = []
        end, align = 0, 1
        for one in fields:
            layout = self.written(one.type)
            wanted = {a.name: a.arguments or () for a in one.attributes}
            own_align = self._value(wanted["align"]) if "align" in wanted else layout.align
            own_size = self._value(wanted["size"]) if "size" in wanted else layout.size
            offsets.append(round_up(end, own_align))
            end = offsets[-1] + own_size
            align = max(align, own_align)
        return tuple(offsets), TypeLayout(round_up(end, align), align)

    def _unknown(self, node: Expression) -> Expression:
        """Return the innermost part of a type that has no meaning, aliases followed."""
        seen: set[str] = set()
        while isinstance(node, Name):
            alias = self.types.nodes.get(node.name)
            inner = (alias.type,) if isinstance(alias, Alias) else node.templates[:1]
            if node.name in seen or not inner or self.types.of(inner[0]) is not None:
                break
            if isinstance(alias, Alias):
                seen.add(node.name)
            node = inner[0]
        return node

    def _count(self, type_: Array) -> int:
        if isinstance(type_.count, int):
            return _positive(type_.count, f"the count of {type_}")
        node = parse_expression(type_.count or "")
        return self._value(() if node is None else (node,))

    def _value(self, arguments: Sequence[Expression]) -> int:
        """Return a size, a count or an alignment, which must be positive."""
        if not arguments:
            raise UnknownTypeError("a size that is not there")
        written = spell(arguments[0])
        try:
            return _positive(int(self.types.constants.number(arguments[0])), written)
        except NotConstantError as error:
            raise UnknownTypeError(f"{written} ({error})") from None


def _positive(value: int, written: str) -> int:
    if value < 1:
        raise UnknownTypeError(f"{written} is {value}")
    return value


def _vector(element: TypeLayout, count: int) -> TypeLayout:
    return TypeLayout(element.size * count, element.size * (2 if count == 2 else 4))


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple that is not below ``value``."""
    return -(-value // multiple) * multiple
