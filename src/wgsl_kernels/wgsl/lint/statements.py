"""What compilers refuse of statements: jumps that lead nowhere, cases, values that are not used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, bare, functions_of
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.walk import children, descendants
from wgsl_kernels.wgsl.types.kinds import INTEGERS, VOID, Scalar, concrete, converts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from wgsl_kernels.wgsl.names.resolve import Symbol
    from wgsl_kernels.wgsl.types.constants import ConstantValues
    from wgsl_kernels.wgsl.types.infer import Types

_LOOPS = (tree.Loop, tree.While, tree.For)
_LIMITED = ("atomic", "subgroup", "quad", "workgroup", "storage", "texture")
"""How the names begin of functions that are called for more than what they return."""


def statement_remarks(
    module: tree.Module,
    types: Types,
    meant: Mapping[int, Symbol],
    constants: ConstantValues,
    imported: Collection[str],
) -> Iterator[Remark]:
    """Yield the statements that no compiler takes where they stand, each with what to write."""
    for function in functions_of(module):
        yield from _jumps(function.body)
        for node in descendants(function.body):
            if isinstance(node, tree.Switch):
                yield from _clauses(node, types, constants)
                for name in _selected(node):
                    symbol = meant.get(name.ident.begin)
                    if symbol is not None and symbol.kind != "const":
                        words = f"a case is a constant, and {name.name} is none. Write if."
                        yield Remark("does-not-compile", words, name.span)
            elif isinstance(node, tree.CallStatement):
                if node.call.callee.name not in imported:
                    yield from _unused(node, module, types)
            elif isinstance(node, tree.IncrementStatement):
                yield from _incremented(node, types)
            elif isinstance(node, tree.Return) and node.value is None and function.returns:
                text = module.text.text[function.returns.begin : function.returns.end]
                words = f"{function.name} returns {text}. Write a value behind return."
                yield Remark("missing-return", words, node.span)


def _jumps(body: tree.Node) -> Iterator[Remark]:
    """Yield the jumps of a function that lead nowhere."""
    open_: list[tuple[tree.Node, bool, bool, bool]] = [(body, False, False, False)]
    while open_:
        node, in_loop, in_block, in_continuing = open_.pop()
        if isinstance(node, _LOOPS):
            in_loop = in_block = True
        elif isinstance(node, tree.Switch):
            in_block = True
        elif isinstance(node, tree.Continuing):
            in_loop, in_block, in_continuing = False, False, True
        open_ += [(one, in_loop, in_block, in_continuing) for one in children(node)]
        words = ""
        if isinstance(node, tree.Jump) and node.keyword == "break" and not in_block:
            words = "break leaves a loop or a switch, and none is around it. Write return."
            if in_continuing:
                words = "a continuing block ends by break if condition;. Write that."
        elif isinstance(node, tree.Jump) and node.keyword == "continue" and not in_loop:
            words = "continue goes on with a loop's next round, and no loop is around it."
            words += " Write if around what is to be left out."
        elif isinstance(node, tree.Return) and in_continuing:
            words = "a continuing block does not return. Return before it, in the loop's body."
        elif isinstance(node, tree.Loop):
            yield from _around_continuing(node.body)
        elif isinstance(node, tree.CompoundStatement):
            for one in node.statements:
                if isinstance(one, tree.BreakIf) and not in_continuing:
                    words = "break if ends a continuing block. Write if (condition) { break; }."
                    yield Remark("does-not-compile", words, Span(one.begin, one.begin + 5))
                    words = ""
        if words:
            yield Remark("does-not-compile", words, node.span)


def _around_continuing(body: tree.CompoundStatement) -> Iterator[Remark]:
    for one in body.statements[:-1]:
        if isinstance(one, tree.Continuing):
            words = "continuing comes last in a loop's body. Move it behind the other statements."
            yield Remark("does-not-compile", words, Span(one.begin, one.begin + len("continuing")))


def _clauses(node: tree.Switch, types: Types, constants: ConstantValues) -> Iterator[Remark]:
    """Yield what is wrong with the cases of a switch."""
    selector = types.value_of(node.selector)
    seen: set[float] = set()
    defaults = 0
    for clause in node.clauses:
        for one in clause.selectors:
            if one is None:
                defaults += 1
                if defaults > 1:
                    words = "this switch has a default before. Leave one of them out."
                    span = Span(clause.begin, clause.body.begin)
                    yield Remark("does-not-compile", words, span)
                continue
            value, type_ = constants.number_or_none(one), types.value_of(one)
            if value is not None and value in seen:
                words = f"this switch has a case {value:g} before. Take another value."
                yield Remark("does-not-compile", words, one.span)
            seen |= set() if value is None else {value}
            is_integer = isinstance(selector, Scalar) and selector.name in INTEGERS
            if is_integer and selector and type_ and not converts(type_, concrete(selector)):
                words = f"the switch takes {selector}, and this case is {type_}. Write an"
                yield Remark("wrong-type", f"{words} integer of that type.", one.span)
    if not defaults:
        words = "a switch has a default, which this one lacks. Add default { } as the last."
        yield Remark("does-not-compile", words, Span(node.begin, node.begin + len("switch")))


def _selected(node: tree.Switch) -> Iterator[tree.Name]:
    for clause in node.clauses:
        for one in clause.selectors:
            named = None if one is None else bare(one)
            if isinstance(named, tree.Name):
                yield named


def _unused(node: tree.CallStatement, module: tree.Module, types: Types) -> Iterator[Remark]:
    """Yield a call that is made for its value alone, which nothing reads."""
    name = node.call.callee.name
    own = module.functions.get(name)
    if own is not None:
        is_for_value = any(one.name == "must_use" for one in own.attributes)
    else:
        is_for_value = is_predeclared(name) and not name.startswith(_LIMITED)
        is_for_value &= types.value_of(node.call) not in (None, VOID)
    if is_for_value:
        text = module.text.text[node.call.begin : node.call.end]
        words = f"nothing reads what {name} returns. Use it, leave it out, or write _ = {text};."
        yield Remark("does-not-compile", words, node.call.callee.span)


def _incremented(node: tree.IncrementStatement, types: Types) -> Iterator[Remark]:
    found = types.value_of(node.target)
    if found is not None and not (isinstance(found, Scalar) and found.name in INTEGERS):
        sign = node.operator[0]
        words = f"{node.operator} takes one integer, and this is {found}. Write {sign}= 1."
        yield Remark("wrong-type", words, node.target.span)
