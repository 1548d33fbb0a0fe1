"""Shader files with all that they import."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.backends.webgpu.modules.files import find_file, is_wgsl, read_text, text_of
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder as shaders_folder
from wgsl_kernels.backends.webgpu.modules.linked import link_files
from wgsl_kernels.backends.webgpu.modules.packages import is_there, named_folders
from wgsl_kernels.backends.webgpu.modules.shader_packages import OURS, package_of
from wgsl_kernels.wgsl.errors.errors import REFUSED, ShaderError, coded
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.names.dependencies import check_dependencies
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Alias, Declaration, Function, Struct, Value, Var


@dataclass(frozen=True)
class Source:
    """A kernel's own file and, of the files that it imports from, the declarations it needs.

    Attributes:
        offered: What its own file has by ``public import``: an entry point, a form's functions.
        checks_loops: Whether its kernel reports where the adapter has ended its loops.
    """

    own: Names
    imported: tuple[Names, ...] = ()
    offered: tuple[str, ...] = ()
    checks_loops: bool = False

    @property
    def file(self) -> str:
        """The name that errors give the kernel's own file."""
        return self.own.text.file

    @functools.cached_property
    def files(self) -> tuple[Names, ...]:
        return (self.own, *self.imported)

    @functools.cached_property
    def digest(self) -> bytes:
        """What is equal where all files have the same names and texts."""
        pairs = [(file.text.file, file.text.text) for file in self.files]
        what = repr((pairs, self.checks_loops) if self.checks_loops else pairs)
        return hashlib.blake2b(what.encode(), digest_size=16).digest()

    @functools.cached_property
    def checked(self) -> Source:
        """The same, for a kernel that reports where the adapter has ended its loops."""
        return replace(self, checks_loops=True)

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        found: dict[str, Function] = {}
        for file in self.files[::-1]:
            found |= file.module.functions
        return RequiredFunctions(self.file, found)

    @functools.cached_property
    def variables(self) -> Mapping[str, Var]:
        return {name: v for file in self.files[::-1] for name, v in file.module.variables.items()}

    @functools.cached_property
    def structs(self) -> Mapping[str, Struct]:
        return {name: s for file in self.files[::-1] for name, s in file.module.structs.items()}

    @functools.cached_property
    def constants(self) -> Mapping[str, Value]:
        """The consts and overrides of all files, by name."""
        return {name: c for file in self.files[::-1] for name, c in file.module.constants.items()}

    @functools.cached_property
    def aliases(self) -> Mapping[str, Alias]:
        return {name: a for file in self.files[::-1] for name, a in file.module.aliases.items()}

    @property
    def declarations(self) -> Iterator[Declaration]:
        """The declarations of all files, the kernel's own first."""
        return (one for file in self.files for one in file.module.declarations)

    @functools.cached_property
    def declared(self) -> frozenset[str]:
        return frozenset(one.name for one in self.declarations if one.name)

    @functools.cached_property
    def _files(self) -> Mapping[int, Names]:
        return {id(d): file for file in self.files for d in file.module.declarations}

    def refused(self, error: ShaderError) -> ShaderError:
        """Return an error with the first declaration that could not be read, if there is one.

        The error may only be there because that declaration is missing.
        """
        for file in self.files:
            if not file.module.is_declared:
                problem = file.module.problems[0]
                code = problem.code if error.code == REFUSED else error.code
                read = f"Part of the text could not be read:\n{problem.describe(file.text)}"
                return coded(code, f"{error}\n{read}")
        return error

    def text_of(self, declaration: Declaration) -> Text:
        return self._files[id(declaration)].text

    def needs_of(self, declaration: Declaration) -> frozenset[str]:
        return self._files[id(declaration)].needs_of(declaration)

    def point(self, message: str, declaration: Declaration) -> str:
        """Return ``message`` led by the declaration's place, with its line and a caret."""
        return self.text_of(declaration).point(message, declaration.name_span.begin)


class RequiredFunctions(dict[str, "Function"]):
    """Functions by name, of which one that is asked for and missing is the shader's fault."""

    def __init__(self, file: str, found: Mapping[str, Function]) -> None:
        super().__init__(found)
        self.file = file

    def __missing__(self, name: str) -> Function:
        known = ", ".join(f"fn {one}" for one in self) or "none"
        raise ShaderError(f"{self.file}: fn {name} is missing; found {known}.")


# What a source says of how its kernel may run: by itself, later, or as a part of others.


def is_light(source: Source) -> bool:
    """Say whether a map is one expression without calls, so that a text with many compiles fast."""
    op = source.own.module.functions.get("op")
    if op is None:
        return False
    body = source.own.text.text[op.span.begin : op.span.end].partition("{")[2]
    return "(" not in body


def can_wait(source: Source) -> bool:
    """Say whether a kernel of another form may be deferred: whole, and silent about indices."""
    whole = all(file.module.is_whole for file in source.files)
    return whole and not reports(source)


def reports(source: Source) -> bool:
    """Say whether a kernel tells something of single elements: what is behind the last is none."""
    noted = ("report_index", "wk_print", "wk_assert")
    return any(one.startswith(noted) for file in source.files for one in file.needs)


def is_plain(source: Source) -> bool:
    """Say whether a fused text can hold a map: it has no variables, overrides or ranks."""
    directives = [one for file in source.files for one in file.module.directives]
    asked = {name for file in source.files for name in file.needs}
    return (
        can_wait(source)
        and not source.variables
        and all(one.keyword != "override" for one in source.constants.values())
        and all(one.keyword == "enable" and one.words == ("f16",) for one in directives)
        and not any(name.endswith("_rank") for name in asked)
    )


def find_source(given: str, beside: Path, inline_name: str) -> Source:
    """Return the source that a kernel's author named.

    Text has a newline or a brace; a path is looked for beside the author's Python file, then among
    the package's shaders. ``inline_name`` is the file name that errors give to text, as ``<inline
    in ops.py:12>``.

    Raises:
        ShaderError: There is no such file, it cannot be read, or what it imports is not there.
    """
    if is_wgsl(given):
        return load_text(given, inline_name, beside)
    return load_file(find_file(given, beside))


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
    if source.own.module.includes:
        refuse_include(source.own, folder)
    return source


@once_per_text
def read_alone(text: Text) -> Source:
    """Return the source that is one file, which imports nothing."""
    file = resolve(text)
    if not file.module.includes:
        check_dependencies((file,))
    return Source(file)


def refuse_include(file: Names, folder: Path) -> NoReturn:
    """Refuse the first ``#include`` of a file; the message has the import that does the same."""
    include = file.module.includes[0]
    given = include.path.replace("\\", "/")
    module, names = next(_found(file, folder, given), ("package::module", ()))
    what = names[0] if len(names) == 1 else f"{{{', '.join(names)}}}" if names else "name"
    message = f"#include is not known; write 'import {module}{SEPARATOR}{what};' in its place."
    raise ShaderError(file.text.point(message, include.span.begin))


def _found(file: Names, folder: Path, given: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules that an include may have meant, and what the file uses of each."""
    package = package_of(folder)
    first, _, rest = given.partition("/")
    library = given.replace("include/", "lib/").removesuffix(".wgsl")
    named = named_folders().get(first)
    tried = {
        "::".join(("package", *package.segments(folder / given))): folder / given,
        "::".join((OURS, *library.split("/"))): shaders_folder() / f"{library}.wesl",
    }
    if named is not None:
        name = "::".join((first, *rest.removesuffix(".wgsl").split("/")))
        tried[name] = named / rest
    for module, path in tried.items():
        if is_there(path):
            declared = {one.name for one in parse(read_text(path)).declarations}
            yield module, tuple(sorted(file.needs & declared))
