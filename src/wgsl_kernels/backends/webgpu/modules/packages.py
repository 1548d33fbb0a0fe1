"""Folders of shaders that the program names, and the paths that it gives."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import warn_user
from wgsl_kernels.engine.registry.registry import reload_kernels
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_SHOWN = 200
_TAKEN = frozenset({"wgsl_kernels", "constants", "package", "super"})
"""What paths of modules begin with anyway."""
_named: dict[str, Path] = {}


def shader_package(name: str, path: str | os.PathLike[str]) -> None:
    """Name a folder of shaders, so that any shader can import from its modules.

    After ``shader_package("imaging", "/project/shaders")`` a shader may say
    ``import imaging::filters::blur;``. Naming another folder so replaces the first, and
    reads the files of all kernels again.

    Args:
        name: What imports begin with: letters, digits and underscores.
        path: The folder.

    Raises:
        ArgumentError: The name is none, or there is no such folder.
    """
    from wgsl_kernels.wgsl.linking.source import WESL_KEYWORDS
    from wgsl_kernels.wgsl.syntax.names import KEYWORDS

    if not str(name).isidentifier() or not str(name).isascii():
        raise ArgumentError(
            f"shader_package: name is {shown(name)}; want letters, digits, underscores."
        )
    if name in KEYWORDS | WESL_KEYWORDS | _TAKEN:
        raise ArgumentError(f"shader_package: name is {name!r}, which means something else.")
    folder = Path(plain_path("shader_package", "path", path))
    if not is_there(folder, Path.is_dir):
        raise ArgumentError(f"shader_package: path is {shown(str(folder))}; want a folder.")
    before, _named[name] = _named.get(name), folder.resolve()
    if before not in (None, _named[name]):
        reload_kernels()


def plain_path(kernel: str, argument: str, given: object) -> str:
    """Return a path, or text, as a string; refuse anything else."""
    plain: object = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(plain, str):
        raise ArgumentError(
            f"{kernel}: {argument} is {shown(given)}; want a path, or WGSL text with lines."
        )
    return plain


def named_folders() -> Mapping[str, Path]:
    """Return the folders that were named, links followed."""
    return MappingProxyType(_named)


def is_there(path: Path, test: Callable[[Path], bool] = Path.is_file) -> bool:
    """Say whether a path is what ``test`` asks; one that the system refuses is nothing."""
    try:
        return test(path)
    except (OSError, ValueError):
        return False


def clipped(text: str) -> str:
    """Return what an error shows of a path or a value that may be long, or odd."""
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_FORMER = {
    "lowering": "copy creation joining matrix",
    "convolution": "conv pool",
    "elementwise": "activation binary cast compare complex logical unary",
    "images": "image",
    "indexing": "count gather scatter segment sort sparse",
    "linear_algebra": "matrix",
    "normalization": "normalization",
    "pooling": "pool",
    "random": "random",
    "reductions": "normalization reduce scan softmax",
    "shapes": "creation joining",
    "signal": "fft",
}
"""The present families, and the former folders of their files, which kept their names."""


def present_path(folder: Path, given: str) -> Path | None:
    """Return where in the package's ``folder`` a shader is now that was at the path ``given``.

    It warns that the path is an old one. None: no shader was there.
    """
    former, _, name = given.partition("/")
    for family, words in _FORMER.items() if name else ():
        if former in words.split():
            inside = sorted(one for one in (folder / family).iterdir() if one.is_dir())
            for found in (folder / family / name, *(one / name for one in inside)):
                if is_there(found):
                    now = found.relative_to(folder).as_posix()
                    message = f"shader {given!r} of wgsl_kernels is {now!r} now; write that."
                    warn_user(message, DeprecationWarning)
                    return found
    return None
