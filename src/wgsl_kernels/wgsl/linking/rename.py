"""Giving declarations other names, with all their uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.names.predeclared import PREDECLARED
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import Edit
from wgsl_kernels.wgsl.syntax.tree import CompoundStatement

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wgsl_kernels.wgsl.names.resolve import Names, Symbol
    from wgsl_kernels.wgsl.syntax.tree import Ident


def rename(names: Names, new: Mapping[str, str]) -> tuple[Edit, ...]:
    """Return the edits that rename what the module declares, or takes from outside.

    Names in a function that are declared there keep theirs, even if they are spelled alike;
    those that would hide a new name are renamed too.

    Args:
        names: The module's names.
        new: The new name for each old one, of the module's own level or from outside of it.

    Raises:
        ShaderError: Part of the module is not understood, so that uses could be missed.
        ValueError: A new name is one that the module has for something else.
    """
    if not new:
        return ()
    module = names.module
    if not module.is_whole:
        raise module.problems[0].error(module.text)
    declared = {symbol.name for symbol in names.symbols if symbol.is_global}
    outer = declared | {use.ident.name for use in names.uses if use.symbol is None}
    new = {old: wanted for old, wanted in new.items() if old in outer and old != wanted}
    if not new:
        return ()
    for old, name in new.items():
        if name in outer and name not in new:
            has = "declared" if name in declared else "used"
            file = module.text.file
            raise ValueError(f"{old!r} cannot be called {name!r}: {file} has it {has}.")
    own = {one: new[one.name] for one in names.symbols if one.is_global and one.name in new}
    return _edits(names, own | _hiding(names, frozenset(new.values())), new)


def unhide(names: Names, meant: Collection[str]) -> tuple[Edit, ...]:
    """Return the edits by which no name in a function hides another, or is declared there twice.

    Args:
        names: The module's names.
        meant: Names from outside of the module that are not to be hidden, besides those in use.
    """
    outer = {one.name for one in names.symbols if one.is_global} | PREDECLARED | {*meant}
    outer |= {use.ident.name for use in names.uses if use.symbol is None}
    taken = {one.name for one in names.symbols} | outer
    new: dict[Symbol, str] = {}
    for function in names.module.functions.values():
        if not isinstance(function.body, CompoundStatement):
            continue
        declared = set(outer)
        for symbol in names.symbols_in(function):
            if symbol.name in declared:
                new[symbol] = fresh(f"{symbol.name}_", taken)
                taken.add(new[symbol])
            declared.add(symbol.name)
    return _edits(names, new, {})


def fresh(name: str, taken: Collection[str]) -> str:
    """Return ``name``, with as many underscores behind it as it takes to be none of ``taken``."""
    while name in taken:
        name += "_"
    return name


def _hiding(names: Names, wanted: frozenset[str]) -> dict[Symbol, str]:
    """Return other names for the local symbols that would hide one of ``wanted``."""
    taken = {s.name for s in names.symbols} | {u.ident.name for u in names.uses} | wanted

    def hides(symbol: Symbol) -> bool:
        return not symbol.is_global and symbol.name in wanted

    return {s: fresh(f"{s.name}_", taken) for s in names.symbols if hides(s)}


def _edits(names: Names, own: Mapping[Symbol, str], outside: Mapping[str, str]) -> tuple[Edit, ...]:
    """Return the edits that give symbols other names, and what the module does not declare."""
    edits = [_edit(symbol.ident, wanted) for symbol, wanted in own.items()]
    for use in names.uses:
        wanted = outside.get(use.ident.name) if use.symbol is None else own.get(use.symbol)
        if wanted is not None:
            edits.append(_edit(use.ident, wanted))
    return tuple(sorted(edits, key=lambda edit: edit.span.begin))


def _edit(ident: Ident, name: str) -> Edit:
    return Edit(Span(ident.begin, ident.end), name)
