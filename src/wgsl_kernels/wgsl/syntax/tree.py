"""The syntax tree of WGSL. Nodes are equal where they say the same, wherever they stand.

Every node covers ``begin`` to ``end`` (exclusive) of its file's text. What the grammar leaves to
taste is not in the tree: trailing commas, empty statements, the colon of a case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from wgsl_kernels.wgsl.syntax.places import Span, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.wgsl.syntax.problem import Problem


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the tree."""

    begin: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def span(self) -> Span:
        """The characters that the node covers."""
        return Span(self.begin, self.end)


@dataclass(frozen=True, slots=True)
class Ident(Node):
    """The name that a declaration gives, or that a member has."""

    name: str


class _GivesName:
    """A node that gives a name."""

    __slots__ = ()
    ident: Ident

    @property
    def name(self) -> str:
        """The name alone."""
        return self.ident.name

    @property
    def name_span(self) -> Span:
        """The characters of the name."""
        return self.ident.span


class _GivesNone:
    """A declaration that gives no name."""

    __slots__ = ()
    name = ""
    begin: int
    end: int

    @property
    def name_span(self) -> Span:
        """The characters that stand for the name where one shows the declaration: all."""
        return Span(self.begin, self.end)


# Expressions. A type is an expression too: a Name.


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, ``true`` or ``false``, as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name in use, with its template list: ``x``, ``vec2<f32>``; none is empty."""

    ident: Ident
    templates: tuple[Expression, ...]

    @property
    def name(self) -> str:
        """The name alone."""
        return self.ident.name


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``callee(arguments)``."""

    callee: Name
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-``, ``!``, ``~``, ``*`` or ``&`` before an operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operator between two operands."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``base[index]``."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Access(Node):
    """``base.member``: a struct's field or a vector's components."""

    base: Expression
    member: Ident


@dataclass(frozen=True, slots=True)
class Paren(Node):
    """``(inner)``."""

    inner: Expression


Expression: TypeAlias = Literal | Name | Call | Unary | Binary | Index | Access | Paren


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``@name`` or ``@name(arguments)``; without parentheses ``arguments`` is None."""

    name: str
    arguments: tuple[Expression, ...] | None


@dataclass(frozen=True, slots=True)
class Broken(_GivesNone, Node):
    """Text that is not understood, as written, with the names in it."""

    text: str
    names: tuple[Ident, ...]


# Declarations of values, at module level or in a function.


@dataclass(frozen=True, slots=True)
class Var(_GivesName, Node):
    """``var<templates> name: type = value``."""

    attributes: tuple[Attribute, ...]
    templates: tuple[Expression, ...]
    ident: Ident
    type: Name | None
    value: Expression | None

    @property
    def space(self) -> str:
        """The address space, empty where none is written."""
        return _word(self.templates, 0)

    @property
    def access(self) -> str:
        """How its memory may be used: as written, or by the address space."""
        return _word(self.templates, 1) or default_access(self.space)


@dataclass(frozen=True, slots=True)
class Value(_GivesName, Node):
    """``const``, ``override`` or ``let``, by its ``keyword``."""

    keyword: str
    attributes: tuple[Attribute, ...]
    ident: Ident
    type: Name | None
    value: Expression | None


@dataclass(frozen=True, slots=True)
class ConstAssert(_GivesNone, Node):
    """``const_assert condition``."""

    condition: Expression


# Statements.


@dataclass(frozen=True, slots=True)
class CompoundStatement(Node):
    """``{ statements }``."""

    attributes: tuple[Attribute, ...]
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``target = value`` or a compound of it; the target of ``_ = value`` is None."""

    target: Expression | None
    operator: str
    value: Expression


@dataclass(frozen=True, slots=True)
class IncrementStatement(Node):
    """``target++`` or ``target--``."""

    target: Expression
    operator: str


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    """A call whose value is not used."""

    call: Call


@dataclass(frozen=True, slots=True)
class Return(Node):
    """``return`` with or without a value."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class Jump(Node):
    """``break``, ``continue`` or ``discard``, by its ``keyword``."""

    keyword: str


@dataclass(frozen=True, slots=True)
class BreakIf(Node):
    """``break if condition``, the last statement of a ``continuing``."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if condition body else otherwise``; an ``else if`` is an If of its own."""

    attributes: tuple[Attribute, ...]
    condition: Expression
    body: CompoundStatement
    otherwise: If | CompoundStatement | None


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """``case selectors body``; ``default`` among the selectors is None."""

    selectors: tuple[Expression | None, ...]
    body: CompoundStatement


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """``switch selector { clauses }``; ``body_attributes`` come before the brace."""

    attributes: tuple[Attribute, ...]
    selector: Expression
    body_attributes: tuple[Attribute, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """``loop body``; the body's last statement may be a Continuing."""

    attributes: tuple[Attribute, ...]
    body: CompoundStatement


@dataclass(frozen=True, slots=True)
class Continuing(Node):
    """``continuing body``, which sees what the loop's body declares."""

    body: CompoundStatement


@dataclass(frozen=True, slots=True)
class While(Node):
    """``while condition body``."""

    attributes: tuple[Attribute, ...]
    condition: Expression
    body: CompoundStatement


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for (first; condition; update) body``, each part or None."""

    attributes: tuple[Attribute, ...]
    first: Statement | None
    condition: Expression | None
    update: Statement | None
    body: CompoundStatement


@dataclass(frozen=True, slots=True)
class Round(Node):
    """One round of a loop that is written out: what WGSL would do with ``name`` at ``value``."""

    name: str
    value: str
    body: CompoundStatement


Statement: TypeAlias = (
    CompoundStatement
    | Var
    | Value
    | ConstAssert
    | Assign
    | IncrementStatement
    | CallStatement
    | Return
    | Jump
    | BreakIf
    | If
    | Switch
    | Loop
    | Continuing
    | While
    | For
    | Round
)


# Module level.


@dataclass(frozen=True, slots=True)
class Directive(Node):
    """``enable``, ``requires`` or ``diagnostic``, by its ``keyword``, and what it names."""

    keyword: str
    arguments: tuple[Expression, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The names that it lists, of extensions or features."""
        return tuple([one.name for one in self.arguments if isinstance(one, Name)])


@dataclass(frozen=True, slots=True)
class Include(Node):
    """``#include "path"``, which is ours and not WGSL's."""

    path: str


@dataclass(frozen=True, slots=True)
class Parameter(_GivesName, Node):
    """A function's parameter or a struct's field."""

    attributes: tuple[Attribute, ...]
    ident: Ident
    type: Name


@dataclass(frozen=True, slots=True)
class Function(_GivesName, Node):
    """``fn name(parameters) -> returns body``."""

    attributes: tuple[Attribute, ...]
    ident: Ident
    parameters: tuple[Parameter, ...]
    return_attributes: tuple[Attribute, ...]
    returns: Name | None
    body: CompoundStatement | Broken

    @property
    def workgroup_size(self) -> tuple[Expression, ...] | None:
        """The expressions of @workgroup_size, or None where there is none."""
        found = [a.arguments or () for a in self.attributes if a.name == "workgroup_size"]
        return found[0] if found else None

    @property
    def is_entry(self) -> bool:
        """Whether the function is a compute entry point."""
        return any(a.name == "compute" for a in self.attributes)

    @property
    def has_stage(self) -> bool:
        """Whether the function is an entry point, of whatever stage."""
        return any(a.name in _STAGES for a in self.attributes)


@dataclass(frozen=True, slots=True)
class Struct(_GivesName, Node):
    """``struct name { fields }``."""

    ident: Ident
    fields: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Alias(_GivesName, Node):
    """``alias name = type``."""

    ident: Ident
    type: Name


_STAGES = frozenset({"compute", "vertex", "fragment"})
_READ_ONLY = frozenset({"storage", "uniform", "immediate", "handle"})


def default_access(space: str) -> str:
    """Return how memory of an address space may be used where nothing says it."""
    return "read" if space in _READ_ONLY else "read_write"


def _word(templates: Sequence[Expression], at: int) -> str:
    """Return the name at a place of a template list, empty where there is none."""
    one = templates[at] if len(templates) > at else None
    return one.name if isinstance(one, Name) else ""


Named: TypeAlias = Function | Struct | Alias | Var | Value
Declaration: TypeAlias = Named | ConstAssert | Broken


@dataclass(frozen=True, slots=True)
class Module:
    """One file. ``text`` and ``problems`` do not count when modules are compared."""

    text: Text = field(compare=False)
    directives: tuple[Directive, ...]
    includes: tuple[Include, ...]
    declarations: tuple[Declaration, ...]
    problems: tuple[Problem, ...] = field(compare=False)

    @property
    def is_whole(self) -> bool:
        """Whether all of the text was understood."""
        return self.is_declared and not any(
            isinstance(d, Function) and isinstance(d.body, Broken) for d in self.declarations
        )

    @property
    def is_declared(self) -> bool:
        """Whether all of the text was understood, but for the bodies of functions."""
        return not any(isinstance(d, Broken) for d in self.declarations)

    @property
    def variables(self) -> Mapping[str, Var]:
        """The variables at module level, by name."""
        return _by_name(self.declarations, Var)

    @property
    def structs(self) -> Mapping[str, Struct]:
        """The structs, by name."""
        return _by_name(self.declarations, Struct)

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions, by name."""
        return _by_name(self.declarations, Function)

    @property
    def constants(self) -> Mapping[str, Value]:
        """The consts and overrides, by name."""
        return _by_name(self.declarations, Value)

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases, by name."""
        return _by_name(self.declarations, Alias)


_Kind = TypeVar("_Kind", bound=Named)


def _by_name(declarations: Sequence[Declaration], kind: type[_Kind]) -> Mapping[str, _Kind]:
    return MappingProxyType({d.ident.name: d for d in declarations if isinstance(d, kind)})
