"""Which declaration every name of a module means, by WGSL's rules of scope."""

from __future__ import annotations

import bisect
import difflib
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.wgsl.names.predeclared import PREDECLARED, is_predeclared
from wgsl_kernels.wgsl.names.spellings import remedy_for
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.edited import EditedText
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from wgsl_kernels.wgsl.syntax.places import Text

Kind = Literal["function", "struct", "alias", "var", "const", "override", "let", "parameter"]


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """One declared name and where its declaration has it. No two are equal."""

    name: str
    kind: Kind
    ident: tree.Ident
    is_global: bool


@dataclass(frozen=True, slots=True)
class Use:
    """One name in use and what it means: None for what the module does not declare."""

    ident: tree.Ident
    symbol: Symbol | None

    @property
    def is_unresolved(self) -> bool:
        """Whether neither the module nor WGSL declares the name."""
        return self.symbol is None and not is_predeclared(self.ident.name)


@dataclass(frozen=True, slots=True)
class Names:
    """All names of one module.

    Attributes:
        module: The module.
        symbols: Every declared name but the fields of structs, in the order of the text.
        uses: Every use, in the order of the text.
        seen: Where each local name is seen from.
        indexed: The names that come before a ``[``.
        members: For each name that stands before a dot, the members that are asked of it.
    """

    module: tree.Module
    symbols: tuple[Symbol, ...]
    uses: tuple[Use, ...]
    seen: Mapping[Symbol, Span]
    indexed: frozenset[str]
    members: Mapping[str, tuple[str, ...]]
    _needs: Mapping[int, frozenset[str]]

    @property
    def text(self) -> Text:
        """The file."""
        return self.module.text

    @property
    def needs(self) -> frozenset[str]:
        """The names that the declarations of the module take from outside of themselves."""
        return frozenset().union(*map(self.needs_of, self.module.declarations))

    def needs_of(self, declaration: tree.Declaration) -> frozenset[str]:
        """Return the names that one of the declarations takes from outside of itself.

        They are of the module, of the composer, of WGSL; built-in values are included.
        """
        return self._needs[id(declaration)]

    @property
    def meant(self) -> dict[int, Symbol]:
        """What each name in use means that the module declares, by where the name begins."""
        return {one.ident.begin: one.symbol for one in self.uses if one.symbol is not None}

    @property
    def unresolved(self) -> tuple[Use, ...]:
        """The uses of names that neither the module nor WGSL declares."""
        return tuple(use for use in self.uses if use.is_unresolved)

    def problems(
        self, known: Collection[str] = (), begins: Collection[int] | None = None
    ) -> tuple[Problem, ...]:
        """Return what to say of each unresolved name that is not ``known`` from elsewhere.

        The first few are held against the names that there are, for the nearest of them.

        Args:
            known: Names that something else declares.
            begins: Where the only names begin that are of interest.
        """
        outer = {*known} | PREDECLARED | {s.name for s in self.symbols if s.is_global}
        found: list[Problem] = []
        for use in self.unresolved:
            name = use.ident.name
            if name not in known and (begins is None or use.ident.begin in begins):
                near = None
                if len(found) < _MOST_HINTS:
                    near = _nearest(name, outer | self.visible_at(use.ident.begin))
                hint = f" Did you mean {near!r}?" if near else ""
                message = remedy_for(name) or f"nothing is called {name!r} here.{hint}"
                found.append(Problem(message, use.ident.begin, "unknown-name"))
        return tuple(found)

    def symbols_in(self, function: tree.Function) -> Iterator[Symbol]:
        """Yield what a function declares: its parameters, and then what its body does."""
        first = bisect.bisect_right(self.symbols, function.ident.begin, key=_begin_of)
        for symbol in itertools.islice(self.symbols, first, None):
            if symbol.ident.begin >= function.end:
                return
            yield symbol

    def visible_at(self, offset: int) -> frozenset[str]:
        """Return the local names that are seen from a place."""
        seen = self.seen.items()
        return frozenset(one.name for one, span in seen if span.begin <= offset < span.end)


def _begin_of(symbol: Symbol) -> int:
    return symbol.ident.begin


def _nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that ``name`` is most likely a slip of, None where none is near."""
    by_case = {one.lower().replace("_", ""): one for one in sorted(candidates)}
    if same := by_case.get(name.lower().replace("_", "")):
        return same
    near = difflib.get_close_matches(name, sorted(candidates), n=1, cutoff=0.7)
    return near[0] if near else None


_MOST_HINTS = 20
"""Each takes as long as all names of a file together."""


@once_per_text
def resolve(source: Text) -> Names:
    """Return what every name of a file means.

    Raises:
        ShaderError: See ``parse``.
    """
    if isinstance(source, EditedText) and source.known is not None:
        known: Names = source.known
        return replace(known, module=replace(known.module, text=source))
    return names_of(parse(source))


def names_of(module: tree.Module) -> Names:
    """Return what every name of a module means."""
    return _Resolver(module).names()


_GLOBAL_KINDS: Mapping[type[tree.Node], Kind] = {
    tree.Function: "function",
    tree.Struct: "struct",
    tree.Alias: "alias",
    tree.Var: "var",
}
_CONTEXTUAL = frozenset({"builtin", "interpolate", "diagnostic"})
_VALUES: Mapping[str, Kind] = {"const": "const", "let": "let", "override": "override"}


class _Resolver:
    """A walk over a module with the scopes that are open."""

    def __init__(self, module: tree.Module) -> None:
        self.module = module
        self.symbols: list[Symbol] = []
        self.uses: list[Use] = []
        self.seen: dict[Symbol, Span] = {}
        self.globals: dict[str, Symbol] = {}
        self.scopes: list[dict[str, Symbol]] = []
        self.needed: set[str] = set()
        self.indexed: set[str] = set()
        self.members: dict[str, dict[str, None]] = {}

    def names(self) -> Names:
        for declaration in self.module.declarations:
            if isinstance(declaration, tree.Value):
                self._declare(declaration.ident, _VALUES[declaration.keyword])
            elif not isinstance(declaration, (tree.ConstAssert, tree.Broken)):
                self._declare(declaration.ident, _GLOBAL_KINDS[type(declaration)])
        needs: dict[int, frozenset[str]] = {}
        for declaration in self.module.declarations:
            self.needed = set()
            _VISITS[type(declaration)](self, declaration)
            needs[id(declaration)] = frozenset(self.needed)
        symbols = sorted(self.symbols, key=lambda symbol: symbol.ident.begin)
        uses = sorted(self.uses, key=lambda use: use.ident.begin)
        return Names(
            self.module,
            tuple(symbols),
            tuple(uses),
            self.seen,
            frozenset(self.indexed),
            {name: tuple(members) for name, members in self.members.items()},
            needs,
        )

    def _declare(self, ident: tree.Ident, kind: Kind, begin: int = 0) -> None:
        """Declare a name; a local one is seen from ``begin`` on."""
        symbol = Symbol(ident.name, kind, ident, not self.scopes)
        self.symbols.append(symbol)
        if self.scopes:
            self.scopes[-1][ident.name] = symbol
            self.seen[symbol] = Span(begin, begin)
        else:
            self.globals.setdefault(ident.name, symbol)

    def _close(self, end: int) -> None:
        """Leave a scope that ends at ``end``."""
        for symbol in self.scopes.pop().values():
            self.seen[symbol] = Span(self.seen[symbol].begin, end)

    def use(self, ident: tree.Ident) -> None:
        name = ident.name
        for scope in reversed(self.scopes):
            if name in scope:
                self.uses.append(Use(ident, scope[name]))
                return
        symbol = self.globals.get(name)
        self.uses.append(Use(ident, symbol))
        self.needed.add(name)

    def visit(self, node: tree.Node | None) -> None:
        if node is None:
            return
        if (read := _VISITS.get(type(node))) is not None:
            read(self, node)
        else:
            self.expression(node)

    def all(self, nodes: Iterable[tree.Node | None]) -> None:
        for node in nodes:
            self.visit(node)

    def expression(self, node: tree.Node) -> None:
        """Read an expression in the order of its text, however deep it is."""
        left: list[tree.Node] = [node]
        while left:
            one = left.pop()
            left += reversed(_PARTS[type(one)](self, one))

    # One method for each node that declares, opens a scope, or holds a name.

    def attribute(self, node: tree.Attribute) -> None:
        if node.name in _CONTEXTUAL:
            self.needed.update(a.name for a in node.arguments or () if isinstance(a, tree.Name))
        else:
            self.all(node.arguments or ())

    def literal(self, node: tree.Node) -> None:
        """Nothing is named."""

    # Expressions: each method notes what is named here, and returns what is inside.

    def number(self, node: tree.Literal) -> Sequence[tree.Node]:
        return ()

    def name(self, node: tree.Name) -> Sequence[tree.Node]:
        self.use(node.ident)
        return node.templates

    def call(self, node: tree.Call) -> Sequence[tree.Node]:
        return (node.callee, *node.arguments)

    def unary(self, node: tree.Unary) -> Sequence[tree.Node]:
        return (node.operand,)

    def binary(self, node: tree.Binary) -> Sequence[tree.Node]:
        return (node.left, node.right)

    def index(self, node: tree.Index) -> Sequence[tree.Node]:
        if isinstance(node.base, tree.Name):
            self.indexed.add(node.base.name)
        return (node.base, node.index)

    def access(self, node: tree.Access) -> Sequence[tree.Node]:
        if isinstance(node.base, tree.Name):
            self.members.setdefault(node.base.name, {})[node.member.name] = None
        return (node.base,)

    def paren(self, node: tree.Paren) -> Sequence[tree.Node]:
        return (node.inner,)

    # Statements and declarations.

    def var(self, node: tree.Var) -> None:
        self.all((*node.attributes, *node.templates, node.type, node.value))
        if self.scopes:
            self._declare(node.ident, "var", node.end)

    def value(self, node: tree.Value) -> None:
        self.all((*node.attributes, node.type, node.value))
        if self.scopes:
            self._declare(node.ident, _VALUES[node.keyword], node.end)

    def condition(self, node: tree.ConstAssert | tree.BreakIf) -> None:
        self.visit(node.condition)

    def block(self, node: tree.CompoundStatement) -> None:
        self.scopes.append({})
        self.all(node.statements)
        self._close(node.end)

    def assign(self, node: tree.Assign) -> None:
        self.visit(node.target)
        self.visit(node.value)

    def step(self, node: tree.IncrementStatement) -> None:
        self.visit(node.target)

    def call_statement(self, node: tree.CallStatement) -> None:
        self.visit(node.call)

    def return_(self, node: tree.Return) -> None:
        self.visit(node.value)

    def if_(self, node: tree.If) -> None:
        otherwise: tree.If | tree.CompoundStatement | None = node
        while isinstance(otherwise, tree.If):
            self.visit(otherwise.condition)
            self.block(otherwise.body)
            otherwise = otherwise.otherwise
        self.visit(otherwise)

    def switch(self, node: tree.Switch) -> None:
        self.visit(node.selector)
        for clause in node.clauses:
            self.all(clause.selectors)
            self.block(clause.body)

    def body(self, node: tree.Loop | tree.Continuing) -> None:
        self.block(node.body)

    def while_(self, node: tree.While) -> None:
        self.visit(node.condition)
        self.block(node.body)

    def for_(self, node: tree.For) -> None:
        self.scopes.append({})
        self.all((node.first, node.condition, node.update))
        self.block(node.body)
        self._close(node.end)

    def parameter(self, node: tree.Parameter) -> None:
        self.all((*node.attributes, node.type))

    def function(self, node: tree.Function) -> None:
        self.all((*node.attributes, *node.parameters, *node.return_attributes, node.returns))
        self.scopes.append({})
        for parameter in node.parameters:
            self._declare(parameter.ident, "parameter", parameter.end)
        body = node.body
        self.all(body.statements if isinstance(body, tree.CompoundStatement) else (body,))
        self._close(node.end)

    def struct(self, node: tree.Struct) -> None:
        self.all(node.fields)

    def alias(self, node: tree.Alias) -> None:
        self.visit(node.type)

    def broken(self, node: tree.Broken) -> None:
        """Take every name for one from outside, since what it means cannot be told."""
        self.needed.update(ident.name for ident in node.names)


# Keyed by the node's own type: one look-up, where isinstance would ask for each in turn.
_PARTS: dict[type[tree.Node], Callable[[_Resolver, Any], Sequence[tree.Node]]] = {
    tree.Name: _Resolver.name,
    tree.Literal: _Resolver.number,
    tree.Call: _Resolver.call,
    tree.Unary: _Resolver.unary,
    tree.Binary: _Resolver.binary,
    tree.Index: _Resolver.index,
    tree.Access: _Resolver.access,
    tree.Paren: _Resolver.paren,
}
_VISITS: dict[type[tree.Node], Callable[[_Resolver, Any], None]] = {
    tree.Attribute: _Resolver.attribute,
    tree.Jump: _Resolver.literal,
    tree.Var: _Resolver.var,
    tree.Value: _Resolver.value,
    tree.ConstAssert: _Resolver.condition,
    tree.BreakIf: _Resolver.condition,
    tree.CompoundStatement: _Resolver.block,
    tree.Assign: _Resolver.assign,
    tree.IncrementStatement: _Resolver.step,
    tree.CallStatement: _Resolver.call_statement,
    tree.Return: _Resolver.return_,
    tree.If: _Resolver.if_,
    tree.Switch: _Resolver.switch,
    tree.Loop: _Resolver.body,
    tree.Continuing: _Resolver.body,
    tree.While: _Resolver.while_,
    tree.For: _Resolver.for_,
    tree.Parameter: _Resolver.parameter,
    tree.Function: _Resolver.function,
    tree.Struct: _Resolver.struct,
    tree.Alias: _Resolver.alias,
    tree.Broken: _Resolver.broken,
}
