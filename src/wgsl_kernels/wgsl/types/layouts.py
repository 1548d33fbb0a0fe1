"""Sizes and alignments of WGSL types, in bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.tree import Ident, Name
from wgsl_kernels.wgsl.types.constants import ConstantValues, NotConstantError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.wgsl.facts.facts import (
        AliasDeclaration,
        Member,
        StructDeclaration,
    )
    from wgsl_kernels.wgsl.syntax.tree import Expression, Value

SCALARS: Mapping[str, int] = {"f32": 4, "i32": 4, "u32": 4, "bool": 4, "f16": 2}
_MOST = 10_000
"""Parts of a type that are looked at."""
_SUFFIXES = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_SHORT = re.compile(r"(vec[234]|mat[234]x[234])([fiuh])$")
_VECTOR = re.compile(r"vec([234])$")
_MATRIX = re.compile(r"mat([234])x([234])$")


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


@dataclass(frozen=True)
class TypeLayouts:
    """The named types and constants that type texts may mention."""

    structs: Mapping[str, StructDeclaration]
    aliases: Mapping[str, str]
    constants: ConstantValues
    _layouts: dict[str, TypeLayout] = field(
        default_factory=dict["str", "TypeLayout"], compare=False
    )

    @classmethod
    def of(
        cls,
        structs: Mapping[str, StructDeclaration],
        aliases: Mapping[str, AliasDeclaration],
        generated: Mapping[str, str],
        constants: Mapping[str, Value],
        given: Mapping[str, float],
    ) -> TypeLayouts:
        """Gather the author's aliases and the composer's, the author's winning."""
        all_aliases = {**generated, **{n: a.type for n, a in aliases.items()}}
        return cls(structs, all_aliases, ConstantValues(constants, given))

    def resolve(self, text: str) -> str:
        """Return ``text`` with aliases followed and short forms written out."""
        node = parse_expression(text)
        try:
            return text if node is None else spell(self._resolved(node, [_MOST]))
        except UnknownTypeError:
            return text

    def layout(self, text: str) -> TypeLayout:
        """Return size and alignment of the type that ``text`` names.

        Raises:
            UnknownTypeError: It has no fixed size, or its name is not known.
        """
        node = parse_expression(text)
        if node is None:
            raise UnknownTypeError(text)
        return self._layout(self._resolved(node, [_MOST]))

    def members(self, fields: tuple[Member, ...]) -> tuple[tuple[int, ...], TypeLayout]:
        """Return the offsets of a struct's fields, and the whole struct's layout."""
        offsets: list[int] = []
        end, align = 0, 1
        for one in fields:
            layout = self.layout(one.type)
            wanted = {a.name: a.arguments for a in one.attributes if a.name in ("size", "align")}
            own_align = self._value(wanted["align"]) if "align" in wanted else layout.align
            own_size = self._value(wanted["size"]) if "size" in wanted else layout.size
            offsets.append(round_up(end, own_align))
            end = offsets[-1] + own_size
            align = max(align, own_align)
        return tuple(offsets), TypeLayout(round_up(end, align), align)

    def _resolved(self, node: Expression, room: list[int]) -> Expression:
        """Return a type without aliases; ``room`` says how many parts it may have yet."""
        room[0] -= 1
        if room[0] < 0:
            raise UnknownTypeError("a type of too many parts")
        seen: set[str] = set()
        while isinstance(node, Name) and node.name in self.aliases and node.name not in seen:
            seen.add(node.name)
            node = parse_expression(self.aliases[node.name]) or node
        if not isinstance(node, Name):
            return node
        if short := _SHORT.match(node.name):
            ident = replace(node.ident, name=short.group(1))
            element = Ident(node.begin, node.end, _SUFFIXES[short.group(2)])
            return replace(node, ident=ident, templates=(Name(node.begin, node.end, element, ()),))
        return replace(node, templates=tuple(self._resolved(one, room) for one in node.templates))

    def _layout(self, node: Expression) -> TypeLayout:
        text = spell(node)
        if text in SCALARS:
            return TypeLayout(SCALARS[text], SCALARS[text])
        if text in self.structs:
            if text not in self._layouts:
                self._layouts[text] = self.members(self.structs[text].fields)[1]
            return self._layouts[text]
        if isinstance(node, Name) and node.templates:
            return self._generic(node, text)
        raise UnknownTypeError(text)

    def _generic(self, node: Name, text: str) -> TypeLayout:
        element = self._layout(node.templates[0])
        if node.name == "atomic":
            return element
        if vector := _VECTOR.match(node.name):
            return _vector(element, int(vector.group(1)))
        if matrix := _MATRIX.match(node.name):
            column = _vector(element, int(matrix.group(2)))
            return TypeLayout(column.stride * int(matrix.group(1)), column.align)
        if node.name == "array" and len(node.templates) == 2:
            return TypeLayout(element.stride * self._value(node.templates[1:]), element.align)
        raise UnknownTypeError(text)

    def _value(self, arguments: Sequence[Expression]) -> int:
        """Return a size, a count or an alignment, which must be positive."""
        try:
            value = int(self.constants.number(arguments[0]))
        except NotConstantError as error:
            raise UnknownTypeError(f"{spell(arguments[0])} ({error})") from None
        if value < 1:
            raise UnknownTypeError(f"{spell(arguments[0])} is {value}")
        return value


def _vector(element: TypeLayout, count: int) -> TypeLayout:
    return TypeLayout(element.size * count, element.size * (2 if count == 2 else 4))


def template_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of the type ``text`` and the texts in its template list, if it has one."""
    node = parse_expression(text)
    if not isinstance(node, Name):
        return text, ()
    return node.name, tuple(spell(one) for one in node.templates)


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple that is not below ``value``."""
    return -(-value // multiple) * multiple
