"""What the names of types mean: WGSL's own, and a module's aliases and structs."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.constants import ConstantValues
from wgsl_kernels.wgsl.types.kinds import (
    SCALARS,
    Array,
    Atomic,
    Matrix,
    Opaque,
    Pointer,
    Scalar,
    StructType,
    Type,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VECTOR = re.compile(r"vec([234])([fiuh])?$")
_MATRIX = re.compile(r"mat([234])x([234])([fh])?$")
_SUFFIXES = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_OPAQUE = re.compile(r"(texture_|sampler|ray_|acceleration_structure|binding_array|coop_)")


class NamedTypes:
    """The types that a module's names mean; each is found once."""

    def __init__(
        self,
        declarations: Iterable[tree.Declaration],
        aliases: Mapping[str, str] = MappingProxyType({}),
        overrides: Mapping[str, float] | None = None,
    ) -> None:
        """Take what a module declares.

        Args:
            declarations: Its declarations; of two with one name, the first counts.
            aliases: Names of types that it does not declare itself, and what they mean.
            overrides: Values of overrides, which others have by their defaults; None where the
                values of all are left open.
        """
        self.nodes: dict[str, tree.Alias | tree.Struct] = {}
        self.found: dict[str, Type | None] = {}
        constants: dict[str, tree.Value] = {}
        for node in declarations:
            if isinstance(node, (tree.Alias, tree.Struct)):
                self.nodes.setdefault(node.ident.name, node)
            elif isinstance(node, tree.Value) and (
                node.keyword == "const" or overrides is not None
            ):
                constants.setdefault(node.ident.name, node)
        for name, meant in aliases.items():
            type_ = parse_expression(meant)
            if isinstance(type_, tree.Name):
                ident = tree.Ident(type_.begin, type_.end, name)
                self.nodes.setdefault(name, tree.Alias(type_.begin, type_.end, ident, type_))
        self.constants = ConstantValues(constants, overrides)

    def is_type(self, name: str) -> bool:
        """Say whether ``name`` is the name of a type; a generic one counts."""
        return (
            name in self.nodes
            or name in SCALARS
            or name in ("array", "atomic", "ptr")
            or _VECTOR.match(name) is not None
            or _MATRIX.match(name) is not None
            or _OPAQUE.match(name) is not None
        )

    def of(self, node: tree.Expression | None) -> Type | None:
        """Return the type that an expression names, None where it names none."""
        if not isinstance(node, tree.Name):
            return None
        if node.name in self.nodes:
            return self.declared(node.name)
        if not node.templates:
            return self._plain(node.name)
        return self._generic(node)

    def shape(self, name: str) -> tuple[int, int | None] | None:
        """Return a vector's size and None, or a matrix's columns and rows, from its name."""
        if vector := _VECTOR.match(name):
            return int(vector.group(1)), None
        matrix = _MATRIX.match(name)
        return None if matrix is None else (int(matrix.group(1)), int(matrix.group(2)))

    def count(self, node: tree.Expression) -> int | str:
        """Return the value of an array's size, or its text where that is not known here."""
        value = self.constants.number_or_none(node)
        return spell(node) if value is None else int(value)

    def declared(self, name: str) -> Type | None:
        """Return the type that an alias or a struct of the module declares."""
        if name not in self.found:
            self.found[name] = None  # what contains itself has no type
            with self.constants.top():
                self.found[name] = self._meant(name, self.nodes[name])
        return self.found[name]

    def _meant(self, name: str, node: tree.Alias | tree.Struct) -> Type | None:
        if isinstance(node, tree.Alias):
            return self.of(node.type)
        members: dict[str, Type] = {}
        for field in node.fields:
            type_ = self.of(field.type)
            if type_ is not None:
                members[field.ident.name] = type_
        return StructType(name, members)

    def fields(self, struct: StructType) -> tuple[tree.Parameter, ...]:
        """Return the fields of a struct as the module declares them."""
        node = self.nodes.get(struct.name)
        return node.fields if isinstance(node, tree.Struct) else ()

    def _plain(self, name: str) -> Type | None:
        if name in SCALARS:
            return SCALARS[name]
        if (match := _VECTOR.match(name)) and match.group(2):
            return Vector(int(match.group(1)), SCALARS[_SUFFIXES[match.group(2)]])
        if (match := _MATRIX.match(name)) and match.group(3):
            columns, rows, suffix = match.groups()
            return Matrix(int(columns), int(rows), SCALARS[_SUFFIXES[suffix]])
        return Opaque(name) if _OPAQUE.match(name) else None

    def _generic(self, node: tree.Name) -> Type | None:
        if node.name == "ptr":
            return self._pointer(node)
        if _OPAQUE.match(node.name):
            return Opaque(node.name, tuple(spell(one) for one in node.templates))
        element = self.of(node.templates[0])
        if element is None:
            return None
        if node.name == "array":
            sized = len(node.templates) > 1
            return Array(element, self.count(node.templates[1]) if sized else None)
        if not isinstance(element, Scalar):
            return None
        if node.name == "atomic":
            return Atomic(element)
        shape = self.shape(node.name)
        if shape is None:
            return None
        columns, rows = shape
        return Vector(columns, element) if rows is None else Matrix(columns, rows, element)

    def _pointer(self, node: tree.Name) -> Type | None:
        words = [spell(one) for one in node.templates]
        store = self.of(node.templates[1]) if len(words) > 1 else None
        if store is None:
            return None
        return Pointer(
            words[0], store, words[2] if len(words) > 2 else tree.default_access(words[0])
        )
