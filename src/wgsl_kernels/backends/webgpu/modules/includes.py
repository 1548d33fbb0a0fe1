"""What to say of ``#include``, which no kernel has any more: the import to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.backends.webgpu.modules.files import read_text, shaders_folder
from wgsl_kernels.backends.webgpu.modules.packages import is_there, named_folders
from wgsl_kernels.backends.webgpu.modules.shader_packages import OURS, package_of
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.wgsl.names.resolve import Names


def refuse_include(file: Names, folder: Path) -> NoReturn:
    """Refuse the first ``#include`` of a file.

    Args:
        file: The file.
        folder: Where it is, or the Python file that holds it.

    Raises:
        ShaderError: Always; the message has the import that does the same.
    """
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
