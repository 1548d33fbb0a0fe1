"""Shader files with all that they include."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.files import (
    find_file,
    find_included,
    label,
    read_file,
    text_of,
)
from wgsl_kernels.backends.webgpu.composing.files import shaders_folder as shaders_folder
from wgsl_kernels.backends.webgpu.wgsl.dependencies import check_dependencies
from wgsl_kernels.backends.webgpu.wgsl.facts import Wanted
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
        Struct,
        Variable,
    )
    from wgsl_kernels.backends.webgpu.wgsl.places import Text


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
    def digest(self) -> bytes:
        """What is equal where all files have the same names and texts."""
        pairs = [(facts.file, facts.text.text) for facts in self.files]
        return hashlib.blake2b(repr(pairs).encode(), digest_size=16).digest()

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions of all files, by name."""
        found = {name: f for facts in self.files[::-1] for name, f in facts.functions.items()}
        return Wanted(self.file, "fn", found)

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
        return any(file in above for file in self._files_with.get(name, ()))

    @functools.cached_property
    def _files_with(self) -> Mapping[str, frozenset[str]]:
        """The files that declare each name."""
        found: dict[str, set[str]] = {}
        for facts in self.files:
            for declaration in facts.declarations:
                found.setdefault(declaration.name, set()).add(facts.file)
        return {name: frozenset(files) for name, files in found.items()}

    @functools.cached_property
    def _texts(self) -> Mapping[int, Text]:
        """The file of each declaration, by the declaration's id."""
        return {id(d): facts.text for facts in self.files for d in facts.declarations}

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
        return self._texts[id(declaration)]

    def point(self, message: str, declaration: Declaration) -> str:
        """Return ``message`` led by the declaration's place, with its line and a caret."""
        return self.text_of(declaration).point(message, declaration.name_span.begin)


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
    path, real = find_file(given, beside)
    return _gather(read_file(path), path.parent, real)


def load_file(path: Path) -> Source:
    """Return the source in the file ``path`` with its includes, as they are now."""
    return _gather(read_file(path), path.parent, path.resolve())


@functools.lru_cache(maxsize=128)
def load_skeleton(name: str) -> Source:
    """Return one of the package's own loops around kernels, with its includes; it is read once."""
    return load_file(shaders_folder() / name)


def load_text(text: str, name: str, beside: Path) -> Source:
    """Return the source given as text; ``name`` stands for its file in errors."""
    return _gather(read(text_of(name, text)), beside, Path())


def _gather(facts: Facts, folder: Path, real: Path) -> Source:
    """Return a file with what it includes; ``real`` is its path without links."""
    walk = _Walk()
    walk.visit(facts, folder, (real,))
    above: dict[str, frozenset[str]] = {facts.file: frozenset()}
    for file, included in reversed(walk.visited):  # each behind all that include it
        for one in included:
            above[one] = above.get(one, frozenset()) | above[file] | {file}
    files = sorted(walk.found.values(), key=lambda one: len(above[one.file]))
    check_dependencies((facts.text, *(one.text for one in files)))
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
            given = find_included(facts, include.path, include.span.begin, folder)
            path = self.resolved.get(given) or self.resolved.setdefault(given, given.resolve())
            if path in chain:
                circle = " -> ".join(label(p) for p in (*chain[chain.index(path) :], path))
                message = f"this include closes a cycle: {circle}."
                raise ShaderError(facts.text.point(message, include.span.begin))
            if path not in self.found:
                self.found[path] = read_file(path)
                self.visit(self.found[path], path.parent, (*chain, path))
            names.append(self.found[path].file)
        self.visited.append((facts.file, names))
