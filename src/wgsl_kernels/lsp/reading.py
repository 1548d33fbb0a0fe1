"""WGSL as it is read while it is written: what is broken is left out, the rest has its places."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.linked import Modules
from wgsl_kernels.backends.webgpu.modules.shader_packages import ShaderPackage, package_of
from wgsl_kernels.backends.webgpu.templates.prelude import PRELUDE
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.lsp.declarations import declarations
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.project import ModulePath, Project, Target
from wgsl_kernels.wgsl.names.resolve import Names, Symbol, names_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import Types, infer
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.lsp.embedded import Shader
    from wgsl_kernels.wgsl.linking.source import Import, SourceFile

_ROUNDS = 8
"""Statements of one text that are left out before it is given up."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class DocumentReading:
    """What is known of one shader, for a place in it.

    Attributes:
        path: Its file.
        shader: The WGSL.
        text: The same, as far as it was understood; what was not is blanks.
    """

    path: Path
    shader: Shader
    text: Text

    @property
    def file(self) -> SourceFile:
        return parse_source(self.text)

    @property
    def module(self) -> tree.Module:
        return self.file.module

    @property
    def imports(self) -> tuple[Import, ...]:
        return self.file.imports

    @functools.cached_property
    def names(self) -> Names:
        return names_of(self.module)

    @functools.cached_property
    def types(self) -> Types:
        """The types of its expressions, for tensors of float32."""
        return infer(self.declarations)

    @property
    def declarations(self) -> tuple[tree.Declaration, ...]:
        """What it declares, what it imports, and what the composer declares."""
        return (*self.module.declarations, *self.imported, *self.given.declarations)

    @functools.cached_property
    def named_types(self) -> NamedTypes:
        """The types that its names mean, for tensors of float32."""
        return NamedTypes(self.declarations)

    @functools.cached_property
    def given(self) -> tree.Module:
        """Declarations that stand for what the composer declares, for tensors of float32."""
        return parse(Text("", "\n".join(declarations(self.module))))

    @functools.cached_property
    def imported(self) -> tuple[tree.Declaration, ...]:
        """What it imports, under the names that it has here, and the types and constants beside."""
        found: dict[str, tree.Declaration] = {}
        for one in self.imports:
            meant = self.meant(one.name, one.begin)
            if meant is not None:
                text, node = meant
                found[one.name] = replace(node, ident=replace(node.ident, name=one.name))
                for other in parse_source(text).module.declarations:
                    if isinstance(other, (tree.Alias, tree.Struct, tree.Value)):
                        found.setdefault(other.name, other)
        own = {one.name for one in self.module.declarations}
        return tuple(one for name, one in found.items() if name not in own)

    @functools.cached_property
    def package(self) -> ShaderPackage | None:
        """The package that it belongs to; None where its settings cannot be read."""
        try:
            return package_of(self.path.parent)
        except ShaderError:
            return None

    @functools.cached_property
    def _project(self) -> tuple[Project, ModulePath] | None:
        if self.package is None:
            return None
        own = self.path.parent / "<text>" if self.shader.is_inline else self.path
        root = ModulePath(self.package.name, self.package.segments(own))
        modules = Modules(self.package, root, self.text)
        packages = frozenset(self.package.packages)
        return Project(modules, _Conditions(), PRELUDE, {}, packages), root

    def meant(self, name: str, begin: int) -> tuple[Text, tree.Named] | None:
        """Return the declaration that a name from another module means, and its file."""
        if self._project is None:
            return None
        project, root = self._project
        bound = next((one for one in self.imports if one.begin == begin), None)
        try:
            if bound is not None:
                return _declaration(project, project.exported(root, bound))
            found = project.resolve(root, name, begin)
        except ShaderError:
            return None
        return None if found is None else _declaration(project, found)

    def struct(self, name: str) -> tuple[Text, tree.Struct] | None:
        """Return a struct that it declares or imports, and the file of that."""
        own = self.module.structs.get(name)
        if own is not None:
            return self.text, own
        for one in self.imports:
            meant = self.meant(name, one.begin) if one.name == name else None
            if meant is not None and isinstance(meant[1], tree.Struct):
                return meant[0], meant[1]
        return None

    def node_of(self, symbol: Symbol) -> tree.Node | None:
        """Return the declaration of a name in this shader."""
        return self._nodes.get(id(symbol.ident))

    @functools.cached_property
    def _nodes(self) -> dict[int, tree.Node]:
        """The declarations in this shader, by their names' objects."""
        found: dict[int, tree.Node] = {}
        for declared in self.module.declarations:
            for node in descendants(declared):
                ident = getattr(node, "ident", None)
                if ident is not None:
                    found.setdefault(id(ident), node)
        return found


_NAMELESS = (tree.ConstAssert, tree.Broken)


def _declaration(project: Project, target: Target) -> tuple[Text, tree.Named] | None:
    unit = project.unit(target.module)
    assert unit is not None
    node = unit.module.declarations[target.at]
    return None if isinstance(node, _NAMELESS) else (unit.text, node)


class _Conditions(dict[str, bool]):
    """All conditions of templates: none holds, since nothing here tells which do."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> bool:
        return False


def read(path: Path, shader: Shader, cursor: int) -> DocumentReading:
    """Return what can be read of a shader; what is broken is left out, near the cursor last."""
    label = str(path)
    known = shader.text[: max(cursor, shader.begin)]
    for text in (shader.text, f"{known}{_closed(known)}"):
        found = _readable(Text(label, text))
        if found is not None:
            return DocumentReading(path, shader, found)
    return DocumentReading(path, shader, Text(label, ""))


def with_statement(
    reading: DocumentReading, cursor: int, statement: str
) -> tuple[DocumentReading, int]:
    """Return a reading with another statement in place of the one at the cursor, and its place."""
    text = reading.shader.text
    begin, end = _around(text, cursor)
    changed = f"{text[:begin]}\n{statement}\n{text[end:]}"
    shader = replace(reading.shader, text=changed, end=len(changed))
    return read(reading.path, shader, begin + 1), begin + 1


def _readable(text: Text) -> Text | None:
    """Return a text without the statements that are not WGSL; None where these do not end."""
    for _ in range(_ROUNDS):
        try:
            parse_source(text)
        except ShaderError as error:
            found = placed_finding(error)
            if found is None or found.file != text.file:
                return None
            at = text.offset(found.line, found.column)
            begin, end = _around(text.text, at)
            if not text.text[begin:end].strip():
                begin, end = at, at + 1
            blanks = re.sub(r"[^\n]", " ", text.text[begin:end])
            text = Text(text.file, text.text[:begin] + blanks + text.text[end:])
        else:
            return text
    return None


def _around(text: str, at: int) -> tuple[int, int]:
    """Return the statement around a place: between the marks that end others, or the line's end."""
    begin = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
    found = re.compile(r"[;{}\n]").search(text, at)
    if found is None:
        return begin, len(text)
    return begin, found.end() if found.group() == ";" else found.start()


def _closed(text: str) -> str:
    """Return what closes the brackets that a text leaves open."""
    open_: list[str] = []
    for mark in re.sub(r"//[^\n]*|[^()\[\]{}]", "", text):
        if mark in _CLOSERS:
            open_.append(_CLOSERS[mark])
        elif open_ and open_[-1] == mark:
            open_.pop()
    return "".join(reversed(open_))
