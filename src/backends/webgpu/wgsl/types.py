"""Sizes and alignments of WGSL types, in bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.evaluate import NotConstantError, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.wgsl.facts import Alias, Constant, Member, Struct

SCALARS: Mapping[str, int] = {"f32": 4, "i32": 4, "u32": 4, "bool": 4, "f16": 2}
_SUFFIXES = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_SHORT = re.compile(r"(vec[234]|mat[234]x[234])([fiuh])$")
_VECTOR = re.compile(r"vec([234])$")
_MATRIX = re.compile(r"mat([234])x([234])$")
_GENERIC = re.compile(r"(\w+)<(.*)>$", re.DOTALL)


class UnknownTypeError(Exception):
    """A type's size cannot be told; the message names the type."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Size and alignment of one type, in bytes."""

    size: int
    align: int

    @property
    def stride(self) -> int:
        """The distance of two such elements in an array."""
        return round_up(self.size, self.align)


@dataclass(frozen=True)
class Types:
    """The named types and constants that type texts may mention."""

    structs: Mapping[str, Struct]
    aliases: Mapping[str, str]
    constants: Mapping[str, Constant]
    given: Mapping[str, float]

    @classmethod
    def of(
        cls,
        structs: Mapping[str, Struct],
        aliases: Mapping[str, Alias],
        generated: Mapping[str, str],
        constants: Mapping[str, Constant],
        given: Mapping[str, float],
    ) -> Types:
        """Gather the author's aliases and the composer's, the author's winning."""
        return cls(
            structs, {**generated, **{n: a.type for n, a in aliases.items()}}, constants, given
        )

    def resolve(self, text: str) -> str:
        """Return ``text`` with aliases followed and short forms written out."""
        seen: set[str] = set()
        while text in self.aliases and text not in seen:
            seen.add(text)
            text = self.aliases[text]
        if short := _SHORT.match(text):
            return f"{short.group(1)}<{_SUFFIXES[short.group(2)]}>"
        if generic := _GENERIC.match(text):
            parts = [self.resolve(part) for part in split_arguments(generic.group(2))]
            return f"{generic.group(1)}<{', '.join(parts)}>"
        return text

    def layout(self, text: str) -> Layout:
        """Return size and alignment of the type that ``text`` names.

        Raises:
            UnknownTypeError: It has no fixed size, or its name is not known.
        """
        text = self.resolve(text)
        if text in SCALARS:
            return Layout(SCALARS[text], SCALARS[text])
        if text in self.structs:
            return self.members(self.structs[text].fields)[1]
        if generic := _GENERIC.match(text):
            return self._generic(generic.group(1), split_arguments(generic.group(2)), text)
        raise UnknownTypeError(text)

    def members(self, fields: tuple[Member, ...]) -> tuple[tuple[int, ...], Layout]:
        """Return the offsets of a struct's fields, and the whole struct's layout."""
        offsets: list[int] = []
        end, align = 0, 1
        for field in fields:
            layout = self.layout(field.type)
            wanted = {a.name: a.arguments for a in field.attributes if a.name in ("size", "align")}
            own_align = self._value(wanted["align"][0]) if "align" in wanted else layout.align
            own_size = self._value(wanted["size"][0]) if "size" in wanted else layout.size
            offsets.append(round_up(end, own_align))
            end = offsets[-1] + own_size
            align = max(align, own_align)
        return tuple(offsets), Layout(round_up(end, align), align)

    def _generic(self, name: str, arguments: tuple[str, ...], text: str) -> Layout:
        if not arguments:
            raise UnknownTypeError(text)
        element = self.layout(arguments[0])
        if name == "atomic":
            return element
        if vector := _VECTOR.match(name):
            count = int(vector.group(1))
            return Layout(element.size * count, element.size * (2 if count == 2 else 4))
        if matrix := _MATRIX.match(name):
            column = self._generic(f"vec{matrix.group(2)}", arguments, text)
            return Layout(column.stride * int(matrix.group(1)), column.align)
        if name == "array" and len(arguments) == 2:
            return Layout(element.stride * self._value(arguments[1]), element.align)
        raise UnknownTypeError(text)

    def _value(self, expression: str) -> int:
        try:
            return int(evaluate(expression, self.constants, self.given))
        except (NotConstantError, OverflowError) as error:
            raise UnknownTypeError(f"{expression} ({error})") from None


def split_arguments(text: str) -> tuple[str, ...]:
    """Return the parts of a template list between its top-level commas."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts if part.strip())


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple that is not below ``value``."""
    return -(-value // multiple) * multiple
