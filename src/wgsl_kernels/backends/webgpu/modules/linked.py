"""A kernel's file with the modules that it imports from."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.files import ENDINGS, read_text
from wgsl_kernels.backends.webgpu.modules.packages import is_there, present_path
from wgsl_kernels.backends.webgpu.modules.shader_packages import (
    OURS,
    ShaderPackage,
    module_file,
    package_of,
)
from wgsl_kernels.backends.webgpu.templates.prelude import PRELUDE
from wgsl_kernels.backends.webgpu.templates.template import is_slots
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.naming import Naming
from wgsl_kernels.wgsl.linking.project import ModulePath, Project
from wgsl_kernels.wgsl.linking.reach import reach
from wgsl_kernels.wgsl.linking.stand_ins import check_stand_ins
from wgsl_kernels.wgsl.names.dependencies import check_dependencies
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.edited import edited
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.wgsl.linking.reach import Reached
    from wgsl_kernels.wgsl.linking.unit import Unit
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text

LINK_BYTES = 150_000
"""What a linked file takes with its trees, about."""
_MOST_LISTED = 2000
"""Modules that are looked at for a name that is like a wrong one."""


def file_of(folders: Mapping[str, Path], path: ModulePath) -> Path | None:
    """Return the file of a module of packages in these folders, None where there is none."""
    folder = folders.get(path.package)
    if folder is None:
        return None
    segments = path.segments or ("package",)
    found = module_file(folder, segments)
    if found is not None or path.package != OURS:
        return found
    tried = (present_path(folder, "/".join(segments) + ending) for ending in ENDINGS)
    return next((one for one in tried if one is not None), None)


class Modules(Mapping[ModulePath, "Text"]):
    """The files of a kernel's packages, each read when it is first asked for."""

    def __init__(self, package: ShaderPackage, root: ModulePath, text: Text) -> None:
        """Begin with the kernel's own text, which may have no file."""
        self.package = package
        self.read: dict[Path, Text] = {}
        self._texts: dict[ModulePath, Text] = {root: text}

    def __getitem__(self, path: ModulePath) -> Text:
        if path not in self._texts:
            file = file_of(self.package.packages, path)
            if file is None:
                raise KeyError(path)
            self.read[file] = self._texts[path] = read_text(file)
        return self._texts[path]

    def __contains__(self, path: object) -> bool:
        return path in self._texts or (
            isinstance(path, ModulePath) and file_of(self.package.packages, path) is not None
        )

    def __iter__(self) -> Iterator[ModulePath]:
        """Yield where modules are, as far as that is soon told."""
        for package, folder in self.package.packages.items():
            for file in itertools.islice(folder.rglob("*"), _MOST_LISTED):
                if file.suffix in ENDINGS:
                    parts = file.relative_to(folder).with_suffix("").parts
                    yield ModulePath(package, parts)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass
class _KernelProject(Project):
    """All modules of one kernel, which takes the place of the slots of the templates it imports."""

    root: ModulePath | None = None
    package: ShaderPackage | None = None

    def unit(self, path: ModulePath) -> Unit | None:
        if path in self._units or path not in self.texts:
            return self._units.get(path)
        text = self.texts[path]
        source = parse_source(text)
        if source.guards:
            message = "a kernel is linked without conditions; apply them with wgsl_kernels.link."
            raise ShaderError(text.point(message, min(source.guards)))
        if self.root is not None and path != self.root and is_slots(text):
            self.stand_ins = {**self.stand_ins, path: self.root}
        return super().unit(path)

    def no_package(self, name: str) -> str:
        """Return what to say where a path begins with the name of no package."""
        if self.package is not None and name in self.package.unread:
            path = f'{name} = {{ path = "…" }}'
            return f"wesl.toml does not say where package {name!r} is; want {path} in it."
        said, mark, hint = super().no_package(name).partition(". Pass it in packages=.")
        return f"{said}. Name its folder with wgsl_kernels.shader_package.{hint if mark else ''}"

    def missing(self, module: ModulePath) -> str:
        """Return what to say of a module that is not there: also where it would be."""
        folder = None if self.package is None else self.package.packages.get(module.package)
        said = super().missing(module)
        return said if folder is None else f"{said} Its package is the folder {folder}."


@dataclass(frozen=True, slots=True)
class _Link:
    """A kernel's files as they were when they were linked."""

    files: tuple[Names, ...]
    offered: tuple[str, ...]
    read: Mapping[Path, Text]
    package: ShaderPackage

    def holds(self, folder: Path) -> bool:
        """Say whether all would be found and read as it was."""
        try:
            same = all(read_text(path) == text for path, text in self.read.items())
            covered = any(
                path.suffix == ENDINGS[1] and is_there(path.with_suffix(ENDINGS[0]))
                for path in self.read
            )
            return same and not covered and package_of(folder) == self.package
        except ShaderError:
            return False


_links: Recent[tuple[Text, Path, Path | None], _Link] = Recent(LINK_BYTES)


def link_files(
    text: Text, folder: Path, file: Path | None
) -> tuple[tuple[Names, ...], tuple[str, ...]]:
    """Return the kernel's own file and those that it needs, each as plain WGSL.

    With them come the names of its public imports, which the composer may call.

    A text in a Python file has no ``file``; ``folder`` is then the one of that Python file.

    Raises:
        ShaderError: A file is not WESL, a name that is imported is not there, or a slot is filled
            with what does not fit.
    """
    key = (text, folder, file)
    link = _links[key]
    if link is None or not link.holds(folder):
        _links.pop(key, None)
        link = _links.keep(key, _linked(text, folder, file))
    return link.files, link.offered


def _linked(text: Text, folder: Path, file: Path | None) -> _Link:
    package = package_of(folder)
    root = ModulePath(package.name, package.segments(folder / "<text>" if file is None else file))
    modules = Modules(package, root, text)
    project = _KernelProject(
        modules, {}, PRELUDE, {}, frozenset(package.packages), root=root, package=package
    )
    reached = reach(project, root)
    check_stand_ins(project, reached)
    files = tuple(_plain_files(project, reached, root))
    check_dependencies(files)
    return _Link(files, tuple(reached.offered.values()), modules.read, package)


def _plain_files(project: Project, reached: Reached, root: ModulePath) -> Iterator[Names]:
    naming = Naming(reached, project, root, "clash")
    kept: dict[ModulePath, set[int]] = {}
    edits: dict[ModulePath, list[Edit]] = {}
    for target in reached.order:
        kept.setdefault(target.module, set()).add(target.at)
        places = naming.places(target)
        if places:
            idents = _idents(reached.units[target.module], target.at)
            edits.setdefault(target.module, []).extend(
                Edit(Span(begin, idents[begin]), name) for begin, name in places.items()
            )
    for path, unit in reached.units.items():
        file = resolve(_plain(unit, tuple(edits.get(path, ()))))
        if path != root:
            declarations = enumerate(file.module.declarations)
            found = tuple(one for at, one in declarations if at in kept.get(path, ()))
            file = replace(file, module=replace(file.module, declarations=found))
        yield file


def _plain(unit: Unit, edits: tuple[Edit, ...]) -> Text:
    return edited(unit.text, edits, parse_source(unit.text).extra, unit.names)


def _idents(unit: Unit, at: int) -> dict[int, int]:
    node = unit.module.declarations[at]
    found = {use.ident.begin: use.ident.end for use in unit.uses[at]}
    for symbols in unit.locals_in(at).values():
        found |= {symbol.ident.begin: symbol.ident.end for symbol in symbols}
    if not isinstance(node, (tree.ConstAssert, tree.Broken)):
        found[node.ident.begin] = node.ident.end
    return found
