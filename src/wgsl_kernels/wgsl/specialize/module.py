"""Specialising a module: constants in, what is then reached out.

Only integers and bools are folded, never floats. All nodes keep their places: a value has that of
the name that it stands for, a round of a loop that of the loop's body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ArgumentError, ShaderError, coded
from wgsl_kernels.wgsl.linking.linker import LinkedModule, Placed
from wgsl_kernels.wgsl.specialize.effects import Effects
from wgsl_kernels.wgsl.specialize.given import given_literal
from wgsl_kernels.wgsl.specialize.statements import StatementSpecializer
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.values import Known, converted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TOO_DEEP = "this is nested too deep to be specialised. Give parts of it names with let or const."


def specialize(module: LinkedModule, constants: Mapping[str, bool | int | float]) -> LinkedModule:
    """Return a module with values in the places of constants, and all that follows from them.

    Integers and bools are folded, ``let``s and branches whose values are known go, loops marked
    ``// @unroll`` are written out, variables in loops get the values that WGSL gives them, and of
    a module with entry points what these do not reach is left out.

    Args:
        module: What was linked.
        constants: Values of ``const`` declarations by name; others keep those that they have.

    Raises:
        ShaderError: A marked loop cannot be written out, a const-expression has no value, or a
            const_assert does not hold; the message names the place, the round and the constants.
        ArgumentError: There is no such constant, or it is of another type.
    """
    return _Specializing(module, constants).all()


class _Specializing:
    """A walk from the entry points along the names that are left."""

    def __init__(self, module: LinkedModule, constants: Mapping[str, bool | int | float]) -> None:
        self.module = module
        parts = [part for part in module.declarations if isinstance(part.node, _NAMED)]
        self.parts = {_name_of(part.node): part for part in parts}
        self.given: dict[str, tree.Expression] = {}
        for name, value in constants.items():
            self.given[name] = self._literal(name, value)
        functions = {
            name: part.node
            for name, part in self.parts.items()
            if isinstance(part.node, tree.Function)
        }
        aliases = {
            name: part.node.type
            for name, part in self.parts.items()
            if isinstance(part.node, tree.Alias)
        }
        untyped = frozenset(
            name
            for name, part in self.parts.items()
            if isinstance(part.node, tree.Value) and part.node.type is None
        )
        self.globals = _Globals(self)
        self.walk = StatementSpecializer(self.globals, untyped, Effects(functions), aliases)
        self.done: dict[int, Placed[tree.Declaration]] = {}

    def all(self) -> LinkedModule:
        module = self.module
        pending: list[Placed[tree.Declaration]] = list(self._roots())
        seen = {id(part) for part in pending}
        while pending:
            part = pending.pop()
            for name in self._take(part):
                needed = self.parts.get(name)
                if needed is not None and id(needed) not in seen:
                    seen.add(id(needed))
                    pending.append(needed)
        kept = tuple(self.done[id(p)] for p in module.declarations if id(p) in self.done)
        return replace(module, declarations=kept)

    def _roots(self) -> Iterable[Placed[tree.Declaration]]:
        """Return what is kept in any case: entry points, overrides, assertions."""
        parts = self.module.declarations
        if not any(_is_entry(part.node) for part in parts):
            return [part for part in parts if not _is_constant(part.node)]
        return [
            part
            for part in parts
            if _is_entry(part.node)
            or isinstance(part.node, (tree.ConstAssert, tree.Broken))
            or (isinstance(part.node, tree.Value) and part.node.keyword == "override")
        ]

    def _take(self, part: Placed[tree.Declaration]) -> set[str]:
        """Specialise a declaration, and return the names that are left in it."""
        walk = self.walk
        walk.text = part.text
        walk.used, walk.needs = set(), set()
        try:
            node = self._specialized(part.node)
        except RecursionError:
            raise ShaderError(walk.text.point(_TOO_DEEP, part.node.begin)) from None
        except ShaderError as error:
            raise self._with_constants(error) from None
        if node is not None:
            self.done[id(part)] = Placed(part.text, node, self._constants_in_words())
        if isinstance(node, tree.Broken):
            return {one.name for one in node.names}
        return walk.needs

    def _specialized(self, node: tree.Declaration) -> tree.Declaration | None:
        walk = self.walk
        if isinstance(node, tree.Function):
            return walk.function(node)
        if isinstance(node, tree.Struct):
            return replace(node, fields=tuple(walk.parameter(one) for one in node.fields))
        if isinstance(node, tree.Alias):
            return replace(node, type=walk.type(node.type))
        if isinstance(node, tree.ConstAssert):
            return walk.assertion(node)
        if isinstance(node, tree.Broken):
            return node
        given = self.given.get(node.ident.name)
        value = given if given is not None or node.value is None else walk.written(node.value)
        type_ = None if node.type is None else walk.type(node.type)
        attributes = walk.attributes(node.attributes)
        return replace(node, attributes=attributes, type=type_, value=value)

    def constant(self, name: str) -> Known | None:
        """Return the value of a module's constant, None where it is no integer or not known."""
        part = self.parts.get(name)
        if part is None or not _is_constant(part.node):
            return None
        node = part.node
        assert isinstance(node, tree.Value)
        assert node.value is not None
        walk = self.walk
        outer = walk.text, walk.used, walk.needs, walk.rounds, walk.locals
        walk.text, walk.used, walk.needs, walk.rounds, walk.locals = part.text, set(), set(), [], {}
        found = walk.value(self.given.get(name, node.value))
        if found is not None and node.type is not None:
            kind = walk.kind(node.type)
            found = None if kind is None else converted(found, kind)
        self.globals.made_of[name] = frozenset(walk.used)
        walk.text, walk.used, walk.needs, walk.rounds, walk.locals = outer
        return found

    def _literal(self, name: str, value: bool | int | float) -> tree.Expression:
        """Return a given value in the place of the author's own."""
        part = self.parts.get(name)
        if part is None or not _is_constant(part.node):
            known = ", ".join(one for one, p in self.parts.items() if _is_constant(p.node))
            message = f"no constant is called {name!r}; known: {known or 'none'}."
            raise ArgumentError(f"specialize: {message}")
        node = part.node
        assert isinstance(node, tree.Value)
        assert node.value is not None
        return given_literal(node, value)

    # Errors.

    def _with_constants(self, error: ShaderError) -> ShaderError:
        constants = self._constants_in_words()
        first, _, rest = str(error).partition("\n")
        return coded(error.code, f"{first} With {constants}.\n{rest}" if constants else str(error))

    def _constants_in_words(self) -> str:
        """Return the given values that the declaration at hand is made of."""
        names: set[str] = set()
        pending = list(self.walk.used)
        while pending:
            name = pending.pop()
            if name not in names:
                names.add(name)
                pending += self.globals.made_of.get(name, ())
        found = [name for name in self.given if name in names]
        return ", ".join(f"{name} = {_shown(self.given[name])}" for name in found)


class _Globals(dict[str, "Known | None"]):
    """The values of the module's constants, found when they are first asked for."""

    def __init__(self, specializing: _Specializing) -> None:
        super().__init__()
        self.specializing = specializing
        self.made_of: dict[str, frozenset[str]] = {}

    def __missing__(self, name: str) -> Known | None:
        self[name] = None  # what is made from itself has no value
        self[name] = found = self.specializing.constant(name)
        return found


_NAMED = (tree.Function, tree.Struct, tree.Alias, tree.Var, tree.Value)


def _name_of(node: tree.Declaration) -> str:
    assert isinstance(node, _NAMED)
    return node.ident.name


def _is_constant(node: tree.Declaration) -> bool:
    return isinstance(node, tree.Value) and node.keyword == "const"


def _is_entry(node: tree.Declaration) -> bool:
    return isinstance(node, tree.Function) and node.has_stage


def _shown(node: tree.Expression) -> str:
    if isinstance(node, tree.Unary):
        return f"{node.operator}{_shown(node.operand)}"
    return node.text if isinstance(node, tree.Literal) else "..."
