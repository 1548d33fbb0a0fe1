"""What a WGSL file declares. The reader makes these; nobody else asks how they were found."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.wgsl.errors.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.syntax.places import Span, Text
    from wgsl_kernels.wgsl.syntax.tree import Expression, Module, Value


@dataclass(frozen=True, slots=True)
class AttributeText:
    """``@name(arguments)``."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Member:
    """A struct's field or a function's parameter: a name, its type's text, its attributes."""

    name: str
    type: str
    attributes: tuple[AttributeText, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Declaration:
    """What every declaration at module level has.

    ``span`` covers it from its first attribute to its last character, semicolon included;
    ``name_span`` only its name; ``identifiers`` are all the names that it mentions, ``needs``
    those of them that come from outside: of the module, of the composer, of WGSL.
    """

    name: str
    span: Span
    name_span: Span
    identifiers: frozenset[str]
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class VariableDeclaration(Declaration):
    """``var<space, access> name: type``; group and binding where the attributes give them."""

    space: str
    access: str
    type: str
    group: int | None
    binding: int | None


@dataclass(frozen=True, slots=True)
class StructDeclaration(Declaration):
    """``struct name { fields }``; ``close`` is where its closing brace stands."""

    fields: tuple[Member, ...]
    close: int


@dataclass(frozen=True, slots=True)
class FunctionDeclaration(Declaration):
    """``fn name(parameters) -> returns``, whose body is in the tree."""

    parameters: tuple[Member, ...]
    returns: str | None
    attributes: tuple[AttributeText, ...]

    @property
    def workgroup_size(self) -> tuple[Expression, ...] | None:
        """The expressions of @workgroup_size, or None where there is none."""
        return next((a.arguments for a in self.attributes if a.name == "workgroup_size"), None)

    @property
    def is_entry(self) -> bool:
        """Whether the function is a compute entry point."""
        return any(a.name == "compute" for a in self.attributes)


@dataclass(frozen=True, slots=True)
class ConstantDeclaration(Declaration):
    """``const`` or ``override``."""

    node: Value


@dataclass(frozen=True, slots=True)
class AliasDeclaration(Declaration):
    """``alias name = type;``."""

    type: str


@dataclass(frozen=True, slots=True)
class OtherDeclaration(Declaration):
    """A const_assert, or text that is no declaration the reader knows (``known`` false)."""

    known: bool


@dataclass(frozen=True, slots=True)
class DirectiveText:
    """``enable``, ``requires`` or ``diagnostic``, with the names or the text that follow."""

    keyword: str
    arguments: str
    span: Span


@dataclass(frozen=True, slots=True)
class IncludeText:
    """``#include "path"``."""

    path: str
    span: Span


_Kind = TypeVar("_Kind", bound=Declaration)


@dataclass(frozen=True, slots=True)
class Facts:
    """All that one file declares, in the file's order.

    ``module`` is its syntax tree; ``indexed`` are the names that come before a ``[``.
    """

    text: Text
    module: Module
    directives: tuple[DirectiveText, ...]
    includes: tuple[IncludeText, ...]
    declarations: tuple[Declaration, ...]
    indexed: frozenset[str]

    @property
    def file(self) -> str:
        """The name that errors give the file."""
        return self.text.file

    @property
    def variables(self) -> Mapping[str, VariableDeclaration]:
        """The variables at module level, by name."""
        return _named(self.declarations, VariableDeclaration)

    @property
    def structs(self) -> Mapping[str, StructDeclaration]:
        """The structs, by name."""
        return _named(self.declarations, StructDeclaration)

    @property
    def functions(self) -> Mapping[str, FunctionDeclaration]:
        """The functions, by name."""
        return RequiredDeclarations(self.file, "fn", _named(self.declarations, FunctionDeclaration))

    @property
    def constants(self) -> Mapping[str, Value]:
        """The consts and overrides, by name."""
        found = _named(self.declarations, ConstantDeclaration)
        return {name: one.node for name, one in found.items()}

    @property
    def aliases(self) -> Mapping[str, AliasDeclaration]:
        """The aliases, by name."""
        return _named(self.declarations, AliasDeclaration)

    @property
    def needs(self) -> frozenset[str]:
        """The names that its declarations take from outside of themselves."""
        return frozenset(name for declaration in self.declarations for name in declaration.needs)

    @property
    def is_whole(self) -> bool:
        """Whether the reader understood every declaration, but for the bodies of functions."""
        return all(not isinstance(d, OtherDeclaration) or d.known for d in self.declarations)


class RequiredDeclarations(dict[str, _Kind]):
    """Declarations by name, of which one that is asked for and missing is the shader's fault."""

    def __init__(self, file: str, what: str, found: Mapping[str, _Kind]) -> None:
        """Take also what messages call such a declaration."""
        super().__init__(found)
        self.file = file
        self.what = what

    def __missing__(self, name: str) -> _Kind:
        """Refuse the file.

        Raises:
            ShaderError: Always.
        """
        known = ", ".join(f"{self.what} {one}" for one in self) or "none"
        raise ShaderError(f"{self.file}: {self.what} {name} is missing; found {known}.")


def _named(declarations: tuple[Declaration, ...], kind: type[_Kind]) -> Mapping[str, _Kind]:
    return MappingProxyType({d.name: d for d in declarations if isinstance(d, kind)})
