"""Why a compiler refuses a text, as our own reader sees it: every error, each with its remedy."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.hazards import overflow_remarks
from wgsl_kernels.wgsl.lint.mixtures import mixed, truth
from wgsl_kernels.wgsl.lint.portability import name_remarks
from wgsl_kernels.wgsl.lint.refused import refusals
from wgsl_kernels.wgsl.lint.remarks import (
    Remark,
    bare,
    functions_of,
    is_behind_pointer,
    root_of,
)
from wgsl_kernels.wgsl.lint.sizes import size_remarks
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.names.spellings import remedy_for
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import (
    BOOL,
    SCALARS,
    StructType,
    Vector,
    concrete,
    conversion_rank,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.types.expressions import Misfit
    from wgsl_kernels.wgsl.types.infer import Types


def diagnose(
    text: Text, known: Collection[str] = (), others: Sequence[tree.Declaration] = ()
) -> list[Remark]:
    """Return what is wrong with a text, in its order.

    Args:
        text: A complete shader, or one file of it; types are held against each other as far as
            they are known.
        known: Names that something else declares.
        others: What it imports, where that is known.

    Raises:
        ShaderError: It cannot be read at all.
    """
    module = parse(text)
    found = [*_syntax(module), *name_remarks(module)]
    if found:
        return sorted(found, key=_begin)
    names = names_of(module)
    found += _unknown(names, known)
    found += _immutable(module, names)
    found += _without_return(module)
    types = infer((*module.declarations, *others))
    found += [*overflow_remarks(module, types), *size_remarks(module, types)]
    imported = frozenset(one.name for one in others)
    found += refusals(module, types, names, imported)
    structs = [one for one in (*module.declarations, *others) if isinstance(one, tree.Struct)]
    found += _misfits(module, types, structs)
    return sorted(map(_without_abstract, found), key=_begin)


def _without_abstract(one: Remark) -> Remark:
    """Return a remark that names the types of numbers without suffix in words."""
    words = one.words
    for name, said in (("Float", "a float"), ("Int", "an integer")):
        words = words.replace(f"<Abstract{name}>", f"<{'f32' if name == 'Float' else 'i32'}>")
        words = words.replace(f"takes no Abstract{name}", f"takes no {said.split()[1]} literal")
        words = words.replace(f"Abstract{name}", f"{said} without suffix")
    return one if words == one.words else replace(one, words=words)


def _begin(one: Remark) -> int:
    return one.span.begin


def _syntax(module: tree.Module) -> Iterator[Remark]:
    text = module.text.text
    for problem in module.problems:
        begin = problem.begin
        words = problem.message
        if "'?'" in words or text[begin : begin + 1] == "?":
            words = "WGSL has no ?:. Write select(otherwise, then, condition)."
        yield Remark("syntax", words, Span(begin, begin + 1))


def _unknown(names: Names, known: Collection[str]) -> Iterator[Remark]:
    """Yield the names that nobody declares."""
    unknown = [use.ident for use in names.unresolved if use.ident.name not in known]
    for ident, problem in zip(unknown, names.problems(known), strict=True):
        words = remedy_for(ident.name) or problem.message
        yield Remark("unknown-name", words, ident.span)


def _immutable(module: tree.Module, names: Names) -> Iterator[Remark]:
    """Yield assignments to what cannot change."""
    meant = names.meant
    for function in functions_of(module):
        for node in descendants(function.body):
            if not isinstance(node, (tree.Assign, tree.IncrementStatement)) or node.target is None:
                continue
            target = node.target
            if is_behind_pointer(target):
                continue
            root = root_of(target)
            symbol = None if root is None else meant.get(root.ident.begin)
            if root is None or symbol is None or symbol.kind not in _FIXED:
                continue
            what, remedy = _FIXED[symbol.kind]
            words = f"{root.name} is {what}. {remedy.format(root.name)}"
            yield Remark("immutable", words, root.span)


_FIXED = {
    "let": ("a let, which keeps its value", "Declare it with var."),
    "const": ("a const, which keeps its value", "Declare a var of another name."),
    "override": ("an override, which keeps its value", "Declare a var of another name."),
    "parameter": ("a parameter, which keeps its value", "Write var own = {};, and change that."),
    "function": ("a function", "Declare a var of another name."),
}


def _without_return(module: tree.Module) -> Iterator[Remark]:
    """Yield functions that may end without the value that they return."""
    for function in functions_of(module):
        assert isinstance(function.body, tree.CompoundStatement)
        if function.returns is not None and not _returns(function.body):
            returns = module.text.text[function.returns.begin : function.returns.end]
            words = (
                f"{function.ident.name} may end without a value, and returns {returns}. Write "
                "return behind the last condition, too."
            )
            yield Remark("missing-return", words, function.ident.span)


def _returns(node: tree.Statement | tree.Continuing | None) -> bool:
    """Say whether a statement is never left but by return."""
    if isinstance(node, tree.Return):
        return True
    if isinstance(node, (tree.CompoundStatement, tree.Round)):
        block = node if isinstance(node, tree.CompoundStatement) else node.body
        return any(_returns(one) for one in block.statements)
    if isinstance(node, tree.If):
        branch: tree.If | tree.CompoundStatement | None = node
        while isinstance(branch, tree.If):
            if not _returns(branch.body):
                return False
            branch = branch.otherwise
        return _returns(branch)
    if isinstance(node, tree.Switch):
        has_default = any(None in clause.selectors for clause in node.clauses)
        return has_default and all(_returns(clause.body) for clause in node.clauses)
    if isinstance(node, tree.Loop):
        return not any(
            isinstance(one, tree.BreakIf) or (isinstance(one, tree.Jump) and one.keyword == "break")
            for one in descendants(node.body)
        )
    return False


def _misfits(module: tree.Module, types: Types, structs: Sequence[tree.Struct]) -> Iterator[Remark]:
    """Yield types that do not fit together."""
    noted = {one.span.begin for one in _immutable(module, names_of(module))}
    own = set(map(id, module.declarations))
    problems = [one for one in types.problems if id(one.declaration) in own]
    fields = {one.name: [field.name for field in one.fields] for one in structs}
    for declaration in module.declarations:
        for node in descendants(declaration):
            remark = None
            if isinstance(node, tree.Binary):
                remark = _of_binary(node, types, module.text)
                noted |= {node.right.begin} if remark else set()
            elif isinstance(node, tree.Access):
                remark = _of_access(node, types, problems, fields)
                noted |= {node.member.begin} if remark else set()
            elif isinstance(node, tree.Assign) and node.operator != "=":
                remark = _of_update(node, types, problems, module.text)
                noted |= {node.value.begin}
            elif isinstance(node, (tree.If, tree.While, tree.For)):
                remark = _of_condition(node.condition, types)
                noted |= {node.condition.begin} if remark and node.condition else set()
            if remark is not None:
                yield remark
    for misfit in problems:
        if misfit.begin not in noted:
            end = _word_end(module.text.text, misfit.begin)
            words = _with_remedy(misfit.message, module.text.text[misfit.begin : end])
            yield Remark("wrong-type", words, Span(misfit.begin, end))


_SCALAR = r"(f32|f16|i32|u32)"
_WANTED = re.compile(
    rf"want {_SCALAR}, found (?:{_SCALAR}|bool)\.|.* wants {_SCALAR} here, not {_SCALAR}\."
)
_REMEDIES = (
    (r".* wants atomic here.*", "Declare atomic<i32> or atomic<u32>: there are none of floats."),
    (r".* wants pointer here.*|want ptr<.*, found (?!ptr).*", "Write &{}."),
    (r"want an integer, found .*", "Convert it to u32."),
    (r"want array<.*, found (?!array).*", "Write to one element, by its index; an op returns one."),
    (r"- takes no u32\.", "Write -i32({})."),
    (r"! takes no .*", "Compare it: {} == 0."),
)
"""What to write, by what is said; ``{}`` is the text there."""
_ONE_TYPE = re.compile(rf".* wants one type, not {_SCALAR}(?: and {_SCALAR})+\.")


def _with_remedy(message: str, text: str) -> str:
    found = _WANTED.fullmatch(message)
    wanted = "" if found is None else found[1] or found[3]
    if _ONE_TYPE.fullmatch(message):
        wanted = max(re.findall(_SCALAR, message), key=lambda one: conversion_rank(SCALARS[one]))
    if not wanted:
        remedies = [say for of, say in _REMEDIES if re.fullmatch(of, message)]
        return f"{message} {remedies[0].format(text)}" if remedies else message
    return f"{message} WGSL converts nothing by itself: write {wanted}({text})."


def _word_end(text: str, begin: int) -> int:
    end = begin
    while end < len(text) and (text[end].isalnum() or text[end] in "_."):
        end += 1
    return max(end, begin + 1)


def _of_binary(node: tree.Binary, types: Types, text: Text) -> Remark | None:
    left, right = types.value_of(node.left), types.value_of(node.right)
    if left is None or right is None or types.of(node) is not None:
        return None
    shown = [text.text[one.begin : one.end] for one in (node.left, node.right)]
    words, is_right = mixed(node.operator, (left, right), (shown[0], shown[1]))
    return Remark("wrong-type", words, (node.right if is_right else node.left).span)


def _of_update(
    node: tree.Assign, types: Types, problems: Sequence[Misfit], text: Text
) -> Remark | None:
    """Return what is wrong with ``x += value``: the value's type, since x has its own."""
    if node.target is None:
        return None
    left, right = types.value_of(node.target), types.value_of(node.value)
    refused = any(
        one.begin == node.value.begin and "has no meaning" in one.message for one in problems
    )
    if left is None or right is None or not refused:
        return None
    operator = node.operator[:-1]
    shown = text.text[node.value.begin : node.value.end]
    own = text.text[node.target.begin : node.target.end]
    words, is_right = mixed(operator, (left, right), (own, shown))
    if not is_right and operator in ("+", "-", "*", "/", "%"):
        words = f"{left} {operator} {concrete(right)} has no meaning. Write {left}({shown})."
    return Remark("wrong-type", words, node.value.span)


def _of_access(
    node: tree.Access,
    types: Types,
    problems: Sequence[Misfit],
    fields: Mapping[str, Sequence[str]],
) -> Remark | None:
    base = types.of(node.base)
    if base is None or all(one.begin != node.member.begin for one in problems):
        return None
    value = value_of(base)
    name = node.member.name
    if isinstance(value, StructType):
        members = fields.get(value.name, value.members)
        known = [one for one in members if not one.startswith("wk_")]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        words = f"{value} has no {name!r}; it has {', '.join(known) or 'none'}.{hint}"
    elif isinstance(value, Vector):
        words = f"{value} has no {name!r}; it has {', '.join('xyzw'[: value.size])}."
    else:
        words = f"{value} has no {name!r}; it is no struct and no vector."
    return Remark("unknown-field", words, node.member.span)


def _of_condition(node: tree.Expression | None, types: Types) -> Remark | None:
    found = None if node is None else types.value_of(node)
    if node is None or found is None or found == BOOL:
        return None
    text = spell(bare(node), blank=" ")
    words = f"a condition is a bool, and this is {concrete(found)}. {truth(found, text)}"
    return Remark("wrong-type", words, bare(node).span)
