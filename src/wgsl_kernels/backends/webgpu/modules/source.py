"""Reading shader files with all that they import."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.backends.webgpu.modules.files import find_file, is_wgsl, read_text, text_of
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder as shaders_folder
from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
from wgsl_kernels.backends.webgpu.modules.linked import link_files
from wgsl_kernels.backends.webgpu.modules.packages import is_there, named_folders
from wgsl_kernels.backends.webgpu.modules.shader_packages import OURS, package_of
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.names.dependencies import check_dependencies
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text


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
    root = package_of(folder).folder
    if is_there(folder / given) and not (folder / given).is_relative_to(root):
        message += f" {given} is not in the package's folder {root}; move it there."
    raise ShaderError(file.text.point(message, include.span.begin))


def _without_ending(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path within a package, without the ending that a file outside of it keeps."""
    *above, last = segments
    return (*above, last.removesuffix(".wgsl").removesuffix(".wesl"))


def _found(file: Names, folder: Path, given: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules that an include may have meant, and what the file uses of each."""
    package = package_of(folder)
    first, _, rest = given.partition("/")
    library = given.replace("include/", "lib/").removesuffix(".wgsl")
    named = named_folders().get(first)
    tried = {
        "::".join(("package", *_without_ending(package.segments(folder / given)))): folder / given,
        "::".join((OURS, *library.split("/"))): shaders_folder() / f"{library}.wesl",
    }
    if named is not None:
        name = "::".join((first, *rest.removesuffix(".wgsl").split("/")))
        tried[name] = named / rest
    for module, path in tried.items():
        if is_there(path):
            declared = {one.name for one in parse(read_text(path)).declarations}
            yield module, tuple(sorted(file.needs & declared))
