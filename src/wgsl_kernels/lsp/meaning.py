"""What stands at a place of a shader: what hovering shows of it, and where it is declared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wgsl_kernels.backends.webgpu.modules.files import read_text, shaders_folder
from wgsl_kernels.backends.webgpu.templates.prelude import TABLE, prelude_names
from wgsl_kernels.lsp.documents import path_of
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.source import SEPARATOR, WILDCARD
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.builtins import BUILTINS
from wgsl_kernels.wgsl.types.kinds import Pointer, Reference, StructType, concrete
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from wgsl_kernels.lsp.reading import DocumentReading
    from wgsl_kernels.wgsl.names.resolve import Symbol
    from wgsl_kernels.wgsl.syntax.places import Span, Text
    from wgsl_kernels.wgsl.types.kinds import Type

_PRELUDE = ("tensors/*.wesl", "templates/any_kernel.wgsl")
"""Where the composer has what it declares for kernels."""
_HOOKS = ("map_slots", "reduce_slots", "scan_slots", "window_slots")
"""Where the defaults of hooks are; a product's are elsewhere."""
_CALLED = {
    "T": "T_X",
    "append": "wk_join",
    "apply": "wk_applied",
    "finish": "wk_finished",
    "op": "wk_item",
    "settle": "wk_settled",
}
"""What templates call some of it."""


Bounds: TypeAlias = "Mapping[int, tuple[float, float]]"
"""What names may be for the samples of a kernel, by where they are declared."""


class Hover(NamedTuple):
    """What is shown of a place: Markdown, and the characters that it is about."""

    words: str
    span: Span


class DefinitionPlace(NamedTuple):
    """Where something is declared."""

    path: Path
    span: Span
    text: Text


@dataclass(frozen=True)
class _Named:
    """A name at a place, and what it means: a name of this shader, or a declaration elsewhere."""

    ident: tree.Ident
    symbol: Symbol | None = None
    other: tuple[Text, tree.Named] | None = None


def hover(reading: DocumentReading, at: int, bounds: Bounds) -> Hover | None:
    """Return what is shown of a place, None where there is nothing to say."""
    member = _member_at(reading, at)
    if member is not None:
        type_ = reading.types.value_of(member)
        shown = None if type_ is None else f"{member.member.name}: {type_}"
        return None if shown is None else Hover(_code(shown), member.member.span)
    named = _named_at(reading, at)
    if named is not None:
        words = _words_of(reading, named, bounds)
        return None if words is None else Hover(words, named.ident.span)
    around = [one for one in _around(reading, at) if isinstance(one, tree.Expression)]
    for found in sorted(around, key=lambda one: one.end - one.begin)[:1]:
        if (type_ := reading.types.value_of(found)) is not None:
            written = reading.text.text[found.begin : found.end]
            return Hover(_code(f"{written}: {type_}"), found.span)
    return None


def definition(reading: DocumentReading, at: int) -> DefinitionPlace | None:
    """Return where what stands at a place is declared: here, in another module, in a template."""
    member = _member_at(reading, at)
    if member is not None:
        return _field(reading, member)
    named = _named_at(reading, at)
    if named is None:
        return None
    if named.other is not None:
        text, node = named.other
        return DefinitionPlace(path_of(text.file, reading.path.parent), node.ident.span, text)
    symbol = named.symbol
    if symbol is not None and symbol.ident.begin != named.ident.begin:
        return DefinitionPlace(reading.path, symbol.ident.span, reading.text)
    return _in_templates(reading, named.ident.name, is_hook=symbol is not None)


def declared_type(reading: DocumentReading, symbol: Symbol) -> Type | None:
    """Return the type of a value that the shader declares, for tensors of float32."""
    node = reading.node_of(symbol)
    if not isinstance(node, (tree.Var, tree.Value, tree.Parameter)):
        return None
    if node.type is not None:
        return reading.named_types.of(node.type)
    found = reading.types.value_of(node.value) if node.value is not None else None
    return None if found is None else concrete(found)


def head_of(text: Text, node: tree.Node) -> str:
    """Return the beginning of a declaration, without the body of a function."""
    end = node.body.begin if isinstance(node, tree.Function) else node.end
    begin = node.ident.begin if isinstance(node, tree.Parameter) else node.begin
    if isinstance(node, tree.Function):
        begin = text.text.index("fn", begin)
    return " ".join(text.text[begin:end].strip().removesuffix(";").split())


def _code(text: str) -> str:
    return f"```wgsl\n{text}\n```"


def _comment(text: Text, node: tree.Node) -> str:
    """Return the comment above a declaration."""
    lines: list[str] = []
    for line in reversed(text.text[: node.begin].rstrip(" \t").split("\n")[:-1]):
        if not line.strip().startswith("//"):
            break
        lines.append(line.strip().lstrip("/").strip())
    return "\n".join(reversed(lines))


# Hovering.


def _words_of(reading: DocumentReading, named: _Named, bounds: Bounds) -> str | None:
    name = named.ident.name
    if named.other is not None:
        text, node = named.other
        shown = _code(head_of(text, node))
        return "\n\n".join(filter(None, (shown, _comment(text, node), f"From `{text.file}`.")))
    if named.symbol is not None:
        low, high = bounds.get(named.symbol.ident.begin, (None, None))
        within = "" if low is None else f"\n\nIn [{low:.6g}, {high:.6g}] for the samples."
        return _of_symbol(reading, named.symbol) + within
    row = prelude_names(reading.names).get(name)
    if row is not None:
        given = reading.given
        stands = next((one for one in given.declarations if one.name == name), None)
        shown = name if stands is None else head_of(given.text, stands)
        return f"{_code(shown)}\n\n{TABLE[row]}; for tensors of float32."
    if name in BUILTINS:
        built = BUILTINS[name]
        return _code(f"fn {name}({', '.join(built.parameters)}) -> {built.result}")
    return _code(name) + "\n\nWGSL's own." if is_predeclared(name) else None


def _of_symbol(reading: DocumentReading, symbol: Symbol) -> str:
    node = reading.node_of(symbol)
    if node is None:
        return _code(f"{symbol.kind} {symbol.name}")
    if isinstance(node, (tree.Var, tree.Value, tree.Parameter)):
        type_ = declared_type(reading, symbol)
        kind = "parameter" if isinstance(node, tree.Parameter) else symbol.kind
        shown = f"{kind} {symbol.name}" if type_ is None else f"{kind} {symbol.name}: {type_}"
        value = _value_of(reading, node)
        shown += "" if value is None else f" = {value:g}"
        if isinstance(node, tree.Var) and node.space:
            shown = shown.replace("var ", f"var<{node.space}, {node.access}> ", 1)
    else:
        shown = head_of(reading.text, node)
    return "\n\n".join(filter(None, (_code(shown), _comment(reading.text, node))))


def _value_of(reading: DocumentReading, node: tree.Node) -> float | None:
    """Return the value of a constant, where it is a number that is known here."""
    if not isinstance(node, tree.Value) or node.keyword != "const" or node.value is None:
        return None
    every = (*reading.module.declarations, *reading.imported)
    return NamedTypes(every).constants.number_or_none(node.value)


# What stands at a place.


def _around(reading: DocumentReading, at: int) -> Iterator[tree.Node]:
    for one in reading.module.declarations:
        if one.begin <= at <= one.end:
            yield from (node for node in descendants(one) if node.begin <= at <= node.end)


def _member_at(reading: DocumentReading, at: int) -> tree.Access | None:
    found = (one for one in _around(reading, at) if isinstance(one, tree.Access))
    return next((one for one in found if one.member.begin <= at <= one.member.end), None)


def _named_at(reading: DocumentReading, at: int) -> _Named | None:
    """Return the name at a place, and what it means."""
    for symbol in reading.names.symbols:
        if symbol.ident.begin <= at <= symbol.ident.end:
            return _Named(symbol.ident, symbol)
    for use in reading.names.uses:
        if use.ident.begin <= at <= use.ident.end:
            if use.symbol is not None:
                return _Named(use.ident, use.symbol)
            return _Named(use.ident, other=reading.meant(use.ident.name, use.ident.begin))
    for one in reading.imports:
        end = one.begin + len(one.path[-1])
        if one.begin <= at <= end and one.path[-1] != WILDCARD:
            ident = tree.Ident(one.begin, end, SEPARATOR.join(one.path))
            return _Named(ident, other=reading.meant(one.name, one.begin))
    return None


# Where things are declared.


def _field(reading: DocumentReading, member: tree.Access) -> DefinitionPlace | None:
    base = reading.types.of(member.base)
    while isinstance(base, (Reference, Pointer)):
        base = base.store
    found = reading.struct(base.name) if isinstance(base, StructType) else None
    if found is None:
        return None
    text, struct = found
    path = path_of(text.file, reading.path.parent)
    fields = (one.ident for one in struct.fields if one.name == member.member.name)
    return next((DefinitionPlace(path, one.span, text) for one in fields), None)


def _in_templates(reading: DocumentReading, name: str, *, is_hook: bool) -> DefinitionPlace | None:
    """Return where the composer has a name of the prelude, or a hook; a tensor is X there."""
    spelt = {name, f"wk_{name}", _CALLED.get(name), re.sub(r"_(\w+?)(_at)?$", r"_X\2", name)}
    hooks = ("product_slots",) if "a_at" in reading.module.functions else _HOOKS
    for pattern in [f"templates/{one}.wesl" for one in hooks] if is_hook else _PRELUDE:
        for path in sorted(shaders_folder().glob(pattern)):
            text = read_text(path)
            for one in parse_source(text).module.declarations:
                if not isinstance(one, (tree.ConstAssert, tree.Broken)) and one.name in spelt:
                    return DefinitionPlace(path, one.ident.span, text)
    return None
