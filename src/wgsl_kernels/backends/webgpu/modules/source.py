"""Shader files with all that they import."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.files import (
    find_file,
    is_wgsl,
    read_text,
    text_of,
)
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder as shaders_folder
from wgsl_kernels.backends.webgpu.modules.includes import refuse_include
from wgsl_kernels.backends.webgpu.modules.linked import link_files
from wgsl_kernels.wgsl.errors.errors import REFUSED, ShaderError, coded
from wgsl_kernels.wgsl.facts.dependencies import check_dependencies
from wgsl_kernels.wgsl.facts.facts import RequiredDeclarations
from wgsl_kernels.wgsl.facts.reader import read
from wgsl_kernels.wgsl.syntax.known import once_per_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from wgsl_kernels.wgsl.facts.facts import (
        AliasDeclaration,
        Declaration,
        Facts,
        FunctionDeclaration,
        StructDeclaration,
        VariableDeclaration,
    )
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Value


@dataclass(frozen=True)
class Source:
    """A kernel's own file and, of the files that it imports from, the declarations it needs.

    Attributes:
        facts: The kernel's own file.
        imported: The others.
        offered: What its own file has by ``public import``: an entry point, a form's functions.
        checks_loops: Whether its kernel reports where the adapter has ended its loops.
    """

    facts: Facts
    imported: tuple[Facts, ...] = ()
    offered: tuple[str, ...] = ()
    checks_loops: bool = False

    @property
    def file(self) -> str:
        """The name that errors give the kernel's own file."""
        return self.facts.file

    @functools.cached_property
    def files(self) -> tuple[Facts, ...]:
        """The kernel's own file and the others."""
        return (self.facts, *self.imported)

    @functools.cached_property
    def digest(self) -> bytes:
        """What is equal where all files have the same names and texts."""
        pairs = [(facts.file, facts.text.text) for facts in self.files]
        what = repr((pairs, self.checks_loops) if self.checks_loops else pairs)
        return hashlib.blake2b(what.encode(), digest_size=16).digest()

    @functools.cached_property
    def checked(self) -> Source:
        """The same, for a kernel that reports where the adapter has ended its loops."""
        return replace(self, checks_loops=True)

    @functools.cached_property
    def functions(self) -> Mapping[str, FunctionDeclaration]:
        """The functions of all files, by name."""
        found = {name: f for facts in self.files[::-1] for name, f in facts.functions.items()}
        return RequiredDeclarations(self.file, "fn", found)

    @functools.cached_property
    def variables(self) -> Mapping[str, VariableDeclaration]:
        """The module variables of all files, by name."""
        return {name: v for facts in self.files[::-1] for name, v in facts.variables.items()}

    @functools.cached_property
    def structs(self) -> Mapping[str, StructDeclaration]:
        """The structs of all files, by name."""
        return {name: s for facts in self.files[::-1] for name, s in facts.structs.items()}

    @functools.cached_property
    def constants(self) -> Mapping[str, Value]:
        """The consts and overrides of all files, by name."""
        return {name: c for facts in self.files[::-1] for name, c in facts.constants.items()}

    @functools.cached_property
    def aliases(self) -> Mapping[str, AliasDeclaration]:
        """The aliases of all files, by name."""
        return {name: a for facts in self.files[::-1] for name, a in facts.aliases.items()}

    @functools.cached_property
    def declared(self) -> frozenset[str]:
        """The names that the files declare at module level."""
        return frozenset(d.name for facts in self.files for d in facts.declarations if d.name)

    @functools.cached_property
    def _texts(self) -> Mapping[int, Text]:
        """The file of each declaration, by the declaration's id."""
        return {id(d): facts.text for facts in self.files for d in facts.declarations}

    def refused(self, error: ShaderError) -> ShaderError:
        """Return an error with the first declaration that could not be read, if there is one.

        The error may only be there because that declaration is missing.
        """
        for facts in self.files:
            if not facts.is_whole:
                problem = facts.module.problems[0]
                code = problem.code if error.code == REFUSED else error.code
                read = f"Part of the text could not be read:\n{problem.describe(facts.text)}"
                return coded(code, f"{error}\n{read}")
        return coded(error.code, str(error))

    def text_of(self, declaration: Declaration) -> Text:
        """Return the file that holds ``declaration``."""
        return self._texts[id(declaration)]

    def point(self, message: str, declaration: Declaration) -> str:
        """Return ``message`` led by the declaration's place, with its line and a caret."""
        return self.text_of(declaration).point(message, declaration.name_span.begin)


def find_source(given: str, beside: Path, inline_name: str) -> Source:
    """Return the source that a kernel's author named.

    Args:
        given: WGSL text, which has a newline or a brace, else a path: beside the author's file,
            then among the package's shaders.
        beside: The folder of the author's Python file.
        inline_name: The file name that errors give to WGSL text, as ``<inline in ops.py:12>``.

    Raises:
        ShaderError: There is no such file, it cannot be read, or what it imports is not there.
    """
    if is_wgsl(given):
        return load_text(given, inline_name, beside)
    path = find_file(given, beside)
    return _load(read_text(path), path.parent, path)


def text_given(given: str, beside: Path, inline_name: str) -> Text:
    """Return the text of one file that an author named; see ``find_source``."""
    if is_wgsl(given):
        return text_of(inline_name, given)
    return read_text(find_file(given, beside))


def load_file(path: Path) -> Source:
    """Return the source in the file ``path`` with all that it imports, as the files are now."""
    return _load(read_text(path), path.parent, path)


def load_text(text: str, name: str, beside: Path) -> Source:
    """Return the source given as text; ``name`` stands for its file in errors."""
    return _load(text_of(name, text), beside, None)


_MAY_IMPORT = re.compile(
    r"^[^\S\n]*(?:@.*[^\S\n])?(?:import|public|private)\s|::|^[^\S\n]*@!|@(?:if|elif|else)\b",
    re.MULTILINE,
)
"""What a file of plain WGSL has in comments only; no part of it crosses lines, else the time that
blank ones take would be their number squared."""


def _load(text: Text, folder: Path, path: Path | None) -> Source:
    """Return what is at ``path``, or in a Python file in ``folder``, with what it imports."""
    if _MAY_IMPORT.search(text.text) is not None:
        (own, *others), offered = link_files(text, folder, path)
        return Source(own, tuple(others), offered=offered)
    source = read_alone(text)
    if source.facts.includes:
        refuse_include(source.facts, folder)
    return source


@once_per_text
def read_alone(text: Text) -> Source:
    """Return the source that is one file, which imports nothing."""
    facts = read(text)
    if not facts.includes:
        check_dependencies((facts,))
    return Source(facts)
