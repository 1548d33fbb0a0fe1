"""What may be written at a place: names, members, modules, hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from wgsl_kernels.backends.webgpu.modules.files import ENDINGS, read_text, shaders_folder
from wgsl_kernels.backends.webgpu.modules.shader_packages import OURS
from wgsl_kernels.backends.webgpu.templates.prelude import TABLE, prelude_names
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.lsp.meaning import declared_type, head_of
from wgsl_kernels.lsp.reading import read, with_statement
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.project import OWN
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.names.predeclared import PREDECLARED
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.builtins import BUILTINS
from wgsl_kernels.wgsl.types.kinds import Pointer, StructType, Vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from wgsl_kernels.lsp.documents import Document
    from wgsl_kernels.lsp.embedded import Shader
    from wgsl_kernels.lsp.reading import DocumentReading

_Kind = lsp.CompletionItemKind
_KINDS = {
    "function": _Kind.Function,
    "struct": _Kind.Struct,
    "alias": _Kind.Class,
    "const": _Kind.Constant,
    "override": _Kind.Constant,
}
"""What editors draw beside names; beside others a variable."""
_HOOKS = {
    "op": "fn op(x: T) -> T_y",
    "init": "fn init() -> f32",
    "combine": "fn combine(a: f32, b: f32) -> f32",
    "lift": "fn lift(x: T) -> f32",
    "append": "fn append(total: f32, x: T) -> f32",
    "finish": "fn finish(total: f32) -> T_y",
    "settle": "fn settle(total: f32) -> f32",
    "apply": "fn apply(x: T, total: f32) -> T_y",
    "a_at": "fn a_at(batch: u32, row: u32, k: u32) -> f32",
    "b_at": "fn b_at(batch: u32, k: u32, col: u32) -> f32",
    "term": "fn term(a: Sum, b: Sum, sum: Sum) -> Sum",
    "main": "@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>)",
}
"""The functions that make a file a kernel, as they begin."""
_WORDS = (
    "alias break const const_assert continue continuing default else enable fn for if import let "
    "loop return struct switch true false var while"
)
_ATTRIBUTES = "align binding builtin compute const else group id if must_use size workgroup_size"
_PATH = re.compile(r"((?:\w+::)+)(?:\{[\w,\s]*)?\w*$")
_MEMBER = re.compile(r"\.\w*$")


def completions(document: Document, shader: Shader, at: int) -> list[lsp.CompletionItem]:
    """Return what may be written at a place of a document's WGSL."""
    before = document.text[shader.begin : at]
    if "//" in before.rpartition("\n")[2]:
        return []
    reading = read(document.path, shader, at)
    if path := _PATH.search(before):
        return list(_of_path(reading, tuple(path.group(1).split(SEPARATOR)[:-1])))
    if re.search(r"@\w*$", before):
        return [_item(one, _Kind.Keyword) for one in _ATTRIBUTES.split()]
    if member := _MEMBER.search(before):
        return list(_members(reading, shader.begin + member.start()))
    found = {one.label: one for one in _names(document, reading, at)}
    return list(found.values())


def _item(label: str, kind: lsp.CompletionItemKind, detail: str = "") -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, detail=detail or None)


def _names(document: Document, reading: DocumentReading, at: int) -> Iterator[lsp.CompletionItem]:
    """Yield all names, those first of which editors show the last of a kind: the nearest."""
    words = (*_WORDS.split(), *(one for one in PREDECLARED if one not in BUILTINS))
    yield from (_item(one, _Kind.Keyword) for one in words)
    for name, built in BUILTINS.items():
        yield _item(name, _Kind.Function, f"({', '.join(built.parameters)}) -> {built.result}")
    yield from _library(document, reading)
    for name, row in prelude_names(reading.names).items():
        yield _item(name, _Kind.Function if "(" in row else _Kind.Variable, TABLE[row])
    for name, head in _HOOKS.items():
        if name not in reading.module.functions:
            text = f"{head} {{\n  $0\n}}"
            yield lsp.CompletionItem(
                name,
                kind=_Kind.Snippet,
                detail="a hook",
                insert_text=text,
                insert_text_format=lsp.InsertTextFormat.Snippet,
            )
    yield from (
        _item(one.name, _Kind.Function, SEPARATOR.join(one.path)) for one in reading.imports
    )
    visible = reading.names.seen
    for symbol in reading.names.symbols:
        span = visible.get(symbol)
        if symbol.is_global or (span is not None and span.begin <= at <= span.end):
            node = reading.node_of(symbol)
            type_ = declared_type(reading, symbol)
            is_head = isinstance(node, (tree.Function, tree.Struct, tree.Alias))
            shown = head_of(reading.text, node) if node and is_head else str(type_ or "")
            yield _item(symbol.name, _KINDS.get(symbol.kind, _Kind.Variable), shown)


def _members(reading: DocumentReading, dot: int) -> Iterator[lsp.CompletionItem]:
    """Yield the members of what stands before a dot."""
    base = _base(reading.shader.text, dot)
    changed, begin = with_statement(reading, dot, f"_ = {base};")
    node = next(_assigned(changed, begin), None)
    type_ = None if node is None else changed.types.value_of(node.value)
    if isinstance(type_, Pointer):
        type_ = type_.store
    if isinstance(type_, StructType):
        yield from (_item(one, _Kind.Field, str(t)) for one, t in type_.members.items())
    elif isinstance(type_, Vector):
        letters = "xyzw"[: type_.size]
        for one in dict.fromkeys((*letters, *(letters[:n] for n in range(2, type_.size + 1)))):
            shown = type_.element if len(one) == 1 else Vector(len(one), type_.element)
            yield _item(one, _Kind.Field, str(shown))


def _assigned(reading: DocumentReading, begin: int) -> Iterator[tree.Assign]:
    for declared in reading.module.declarations:
        for one in descendants(declared):
            if isinstance(one, tree.Assign) and one.begin == begin:
                yield one


def _base(text: str, dot: int) -> str:
    """Return the expression that ends before a dot: names, members, brackets."""
    at, depth = dot, 0
    while at > 0:
        mark = text[at - 1]
        depth += (mark in ")]") - (mark in "([")
        if depth < 0 or (depth == 0 and not (mark.isalnum() or mark in "_.)([]")):
            break
        at -= 1
    return text[at:dot]


# Other modules.


def _of_path(reading: DocumentReading, segments: tuple[str, ...]) -> Iterator[lsp.CompletionItem]:
    """Yield the modules and the declarations below a path."""
    package = reading.package
    if package is None:
        return
    first, *rest = segments
    if first == "super":
        rest = [one for one in segments if one != "super"]
        ups = len(segments) - len(rest)
        above = package.segments(reading.path)[:-1]
        folder = package.folder.joinpath(*above[: max(len(above) - ups + 1, 0)])
    elif first == OWN or first in package.packages:
        folder = package.folder if first == OWN else package.packages[first]
    else:
        return
    below = folder.joinpath(*rest)
    for path in sorted(below.glob("*")) if below.is_dir() else ():
        if path.is_dir() or path.suffix in ENDINGS:
            yield _item(path.stem, _Kind.Module)
    for ending in ENDINGS:
        file = below.with_name(f"{below.name}{ending}")
        if rest and file.is_file():
            yield from (_item(n, _KINDS.get(k, _Kind.Value), h) for n, k, h in _declared(file))


def _declared(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the names that a module declares, of what kind they are, and how they begin."""
    try:
        text = read_text(file)
        source = parse_source(text)
    except ShaderError:
        return
    for node in source.module.declarations:
        if not isinstance(node, (tree.ConstAssert, tree.Broken)):
            kind = node.keyword if isinstance(node, tree.Value) else type(node).__name__.lower()
            if node.begin not in source.private:
                yield node.name, kind, head_of(text, node)


def _library(document: Document, reading: DocumentReading) -> Iterator[lsp.CompletionItem]:
    """Yield the functions of the library, each with the import that it wants."""
    taken = {one.name for one in reading.names.symbols} | {one.name for one in reading.imports}
    where = document.position(_import_place(reading))
    indent = " " * where.character
    for file in sorted((shaders_folder() / "lib").glob("*.wesl")):
        for name, kind, head in _declared(file):
            if kind == "function" and name not in taken:
                path = SEPARATOR.join((OURS, "lib", file.stem, name))
                edit = lsp.TextEdit(lsp.Range(where, where), f"import {path};\n{indent}")
                item = _item(name, _Kind.Function, head)
                item.additional_text_edits = [edit]
                yield item


def _import_place(reading: DocumentReading) -> int:
    """Return where an import may stand: before the others, else before all that is declared."""
    begins: Iterable[int] = (
        *(one.statement for one in reading.imports),
        *(one.begin for one in (*reading.module.directives, *reading.module.declarations)),
    )
    return min(begins, default=reading.shader.begin)
