"""One module under given conditions: what it declares, what it imports, what each part uses."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.linking.conditions import translate
from wgsl_kernels.wgsl.linking.grammar import parse_source, turned_off
from wgsl_kernels.wgsl.linking.source import WILDCARD
from wgsl_kernels.wgsl.names.dependencies import refuse_second
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.linking.source import Import
    from wgsl_kernels.wgsl.names.resolve import Names, Symbol, Use
    from wgsl_kernels.wgsl.syntax.places import Text


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A module that is read, and what the linker asks of it.

    Attributes:
        text: The file.
        module: Its WGSL, with the conditions applied.
        names: What its names mean inside of it.
        declared: For each name at module level, which declaration it is.
        imports: For each imported name, what it stands for.
        wildcards: The imports of all names of a module.
        uses: For each declaration, the names in it, in the order of the text.
        private: The names that no other module may use.
        off: The diagnostics that the module turns off.
        is_wildcardable: Whether other packages may import all of its names at once.
    """

    text: Text
    module: tree.Module
    names: Names
    declared: Mapping[str, int]
    imports: Mapping[str, Import]
    wildcards: tuple[Import, ...]
    uses: tuple[tuple[Use, ...], ...]
    private: frozenset[str]
    off: frozenset[str]
    is_wildcardable: bool

    def locals_in(self, at: int) -> dict[str, list[Symbol]]:
        """Return the names that declaration ``at`` declares inside of itself."""
        node = self.module.declarations[at]
        symbols = self.names.symbols  # in the order of the text
        first = bisect.bisect_left(symbols, node.begin, key=_begin)
        last = bisect.bisect_left(symbols, node.end, first, key=_begin)
        found: dict[str, list[Symbol]] = {}
        for symbol in symbols[first:last]:
            if not symbol.is_global:
                found.setdefault(symbol.name, []).append(symbol)
        return found


def _begin(symbol: Symbol) -> int:
    return symbol.ident.begin


def unit_of(text: Text, conditions: Mapping[str, bool]) -> Unit:
    """Return the module that ``text`` holds under ``conditions``.

    Raises:
        ShaderError: It is not WESL, a condition is missing, or one name is given twice.
    """
    asked = sorted(parse_source(text).conditions)
    key = tuple((name, conditions[name]) for name in asked if name in conditions)
    units = _units_of(text)
    found = units.get(key)
    if found is None:
        found = units[key] = _unit(text, dict(key))
    return found


@once_per_text
def _units_of(text: Text) -> dict[tuple[tuple[str, bool], ...], Unit]:
    """Return the modules that a text has held so far, by conditions."""
    del text
    return {}


def _unit(text: Text, conditions: Mapping[str, bool]) -> Unit:
    source = parse_source(text)
    module, imports = translate(source, conditions)
    declared = _declared(module)
    bound = _bound(module, declared, imports)
    names = names_of(module)
    return Unit(
        text,
        module,
        names,
        declared,
        bound,
        tuple(one for one in imports if one.name == WILDCARD),
        _by_declaration(module, names),
        frozenset(
            name for name, at in declared.items() if module.declarations[at].begin in source.private
        ),
        turned_off(module.directives),
        source.is_wildcardable,
    )


def _declared(module: tree.Module) -> dict[str, int]:
    declared: dict[str, int] = {}
    for at, node in enumerate(module.declarations):
        if isinstance(node, (tree.ConstAssert, tree.Broken)):
            continue
        name = node.ident.name
        if name in declared:
            first = _ident(module, declared[name])
            refuse_second(module.text, name, first.begin, node.ident.begin)
        declared[name] = at
    return declared


def _bound(
    module: tree.Module, declared: Mapping[str, int], imports: tuple[Import, ...]
) -> dict[str, Import]:
    bound: dict[str, Import] = {}
    for one in imports:
        if one.name == WILDCARD:
            continue
        if one.name in declared:
            again = _ident(module, declared[one.name]).begin
            refuse_second(module.text, one.name, one.begin, again)
        first = bound.setdefault(one.name, one)
        if first.path != one.path:
            refuse_second(module.text, one.name, first.begin, one.begin)
        if one.is_public:
            bound[one.name] = one
    return bound


def _ident(module: tree.Module, at: int) -> tree.Ident:
    node = module.declarations[at]
    assert not isinstance(node, (tree.ConstAssert, tree.Broken))
    return node.ident


def _by_declaration(module: tree.Module, names: Names) -> tuple[tuple[Use, ...], ...]:
    """Return the uses of each declaration; both stand in the order of the text."""
    found: list[tuple[Use, ...]] = []
    at = 0
    uses = names.uses
    for node in module.declarations:
        start = at
        while at < len(uses) and uses[at].ident.begin < node.end:
            at += 1
        found.append(uses[start:at])
    return tuple(found)
