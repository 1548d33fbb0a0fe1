"""Shader files with all that they include, read when first needed and again when they change."""

from __future__ import annotations

import functools
import importlib.resources
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.places import Text
from wgsl_kernels.backends.webgpu.wgsl.reader import read
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.wgsl.facts import (
        Alias,
        Constant,
        Declaration,
        Facts,
        Function,
        Include,
        Struct,
        Variable,
    )


@dataclass(frozen=True)
class Source:
    """A kernel's own file and the files it includes, each once and before those that it includes.

    Attributes:
        facts: The kernel's own file.
        included: The others.
        above: Which files include a file, directly or not, by the names that errors give them.
    """

    facts: Facts
    included: tuple[Facts, ...]
    above: Mapping[str, frozenset[str]]

    @property
    def file(self) -> str:
        """The name that errors give the kernel's own file."""
        return self.facts.file

    @functools.cached_property
    def files(self) -> tuple[Facts, ...]:
        """The kernel's own file and the included ones."""
        return (self.facts, *self.included)

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions of all files, by name."""
        return {name: f for facts in self.files[::-1] for name, f in facts.functions.items()}

    @functools.cached_property
    def variables(self) -> Mapping[str, Variable]:
        """The module variables of all files, by name."""
        return {name: v for facts in self.files[::-1] for name, v in facts.variables.items()}

    @functools.cached_property
    def structs(self) -> Mapping[str, Struct]:
        """The structs of all files, by name."""
        return {name: s for facts in self.files[::-1] for name, s in facts.structs.items()}

    @functools.cached_property
    def constants(self) -> Mapping[str, Constant]:
        """The consts and overrides of all files, by name."""
        return {name: c for facts in self.files[::-1] for name, c in facts.constants.items()}

    @functools.cached_property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases of all files, by name."""
        return {name: a for facts in self.files[::-1] for name, a in facts.aliases.items()}

    @functools.cached_property
    def declared(self) -> frozenset[str]:
        """The names that the files declare at module level."""
        return frozenset(d.name for facts in self.files for d in facts.declarations if d.name)

    def replaces(self, name: str, facts: Facts) -> bool:
        """Say whether a file that includes another declares ``name`` in its place."""
        above = self.above[facts.file]
        return any(
            one.file in above and any(name == d.name for d in one.declarations)
            for one in self.files
        )

    @property
    def syntax_error(self) -> str:
        """What is wrong with the first declaration that could not be read, or nothing.

        It belongs below a message that may only be true because the declaration is missing.
        """
        for facts in self.files:
            if not facts.is_whole:
                problem = facts.module.problems[0].describe(facts.text)
                return f"\nPart of the text could not be read:\n{problem}"
        return ""

    def text_of(self, declaration: Declaration) -> Text:
        """Return the file that holds ``declaration``."""
        return next(f.text for f in self.files if any(d is declaration for d in f.declarations))

    def point(self, message: str, declaration: Declaration) -> str:
        """Return ``message`` led by the declaration's place, with its line and a caret."""
        return self.text_of(declaration).point(message, declaration.name_span.begin)


@functools.cache
def shaders_folder() -> Path:
    """Return the folder that holds the package's own shaders."""
    return Path(str(importlib.resources.files("wgsl_kernels.shaders")))


def find_source(given: str, beside: Path, inline_name: str) -> Source:
    """Return the source that a kernel's author named.

    Args:
        given: WGSL text if it holds a newline, else a path: beside the author's file, then
            among the package's shaders.
        beside: The folder of the author's Python file.
        inline_name: The file name that errors give to WGSL text, as ``<inline in ops.py:12>``.

    Raises:
        ShaderError: There is no such file, an include is missing, or the text cannot be read.
    """
    if "\n" in given:
        return load_text(given, inline_name, beside)
    tried = _candidates(given, beside)
    for path in tried:
        if path.is_file():
            return load_file(path)
    raise ShaderError(f"shader file {given!r} is missing; tried {_listed(tried)}.")


def load_file(path: Path) -> Source:
    """Return the source in the file ``path`` with its includes; unchanged files are read once."""
    return _gather(_read_file(path), path.parent, path)


def load_text(text: str, name: str, beside: Path) -> Source:
    """Return the source given as text; ``name`` stands for its file in errors."""
    return _gather(read(Text(name, _with_newlines(text))), beside, None)


def _gather(facts: Facts, folder: Path, path: Path | None) -> Source:
    walk = _Walk()
    walk.visit(facts, folder, (path.resolve() if path else Path(),))
    above: dict[str, frozenset[str]] = {facts.file: frozenset()}
    for file, included in reversed(walk.visited):  # each behind all that include it
        for one in included:
            above[one] = above.get(one, frozenset()) | above[file] | {file}
    files = sorted(walk.found.values(), key=lambda one: len(above[one.file]))
    return Source(facts, tuple(files), above)


@dataclass
class _Walk:
    """A walk over what a file includes, directly or not, that comes to each file once.

    Attributes:
        found: The files but for the first.
        visited: Names of files, and of those that they include: each behind all of these.
        resolved: Paths without links, by the paths that includes lead to.
    """

    found: dict[Path, Facts] = field(default_factory=dict["Path", "Facts"])
    visited: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    resolved: dict[Path, Path] = field(default_factory=dict["Path", "Path"])

    def visit(self, facts: Facts, folder: Path, chain: tuple[Path, ...]) -> None:
        """Visit what a file includes; ``chain`` has the files that led to it, and itself."""
        names: list[str] = []
        for include in facts.includes:
            given = _resolve(facts, include, folder)
            path = self.resolved.get(given) or self.resolved.setdefault(given, given.resolve())
            if path in chain:
                circle = " -> ".join(_label(p) for p in (*chain[chain.index(path) :], path))
                raise ShaderError(_at(facts, include, f"this include closes a cycle: {circle}."))
            if path not in self.found:
                self.found[path] = _read_file(path)
                self.visit(self.found[path], path.parent, (*chain, path))
            names.append(self.found[path].file)
        self.visited.append((facts.file, names))


def _resolve(facts: Facts, include: Include, folder: Path) -> Path:
    tried = _candidates(include.path, folder)
    for path in tried:
        if path.is_file():
            return path
    raise ShaderError(_at(facts, include, f"the include is missing; tried {_listed(tried)}."))


def _candidates(name: str, folder: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((folder / name, shaders_folder() / name)))


def _at(facts: Facts, include: Include, message: str) -> str:
    return facts.text.point(message, include.span.begin)


def _listed(paths: tuple[Path, ...]) -> str:
    return ", ".join(str(path) for path in paths)


def _read_file(path: Path) -> Facts:
    return _read_version(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _read_version(path: Path, _modified: int) -> Facts:
    return read(Text(_label(path), _with_newlines(path.read_text(encoding="utf-8"))))


def _label(path: Path) -> str:
    """Return how errors name ``path``: the package's own shaders by their place among them."""
    folder = shaders_folder().resolve()
    resolved = path.resolve()
    return str(resolved.relative_to(folder)) if resolved.is_relative_to(folder) else str(path)


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
