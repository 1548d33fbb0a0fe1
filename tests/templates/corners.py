"""Every template with the configurations at the corners of its space, for several compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.source import shaders_folder
from wgsl_kernels.backends.webgpu.composing.template_files import find_template
from wgsl_kernels.backends.webgpu.products.tilings import (
    LANES,
    REGISTERS,
    STAGED,
    STRIDED,
    VEC4_KK,
    VEC4_KN,
    VEC4_MN,
    VEC4_N,
    Tiling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.templates.template import Configuration, Template

FOLDER = "templates"


def template_of(path: str, slots: str | None = None) -> Template:
    """Return one of the package's templates."""
    return find_template(path, slots, shaders_folder(), "<inline>")


def templates() -> list[str]:
    """Return the paths of all templates with an entry point."""
    folder = shaders_folder()
    files = sorted((folder / FOLDER).glob("*.wesl"))
    return [one.relative_to(folder).as_posix() for one in files if "@compute" in one.read_text()]


def corners(path: str) -> Iterator[Configuration]:
    """Yield the default configuration of a template, and those at the corners of its space.

    What goes together in a product follows from its tilings; of any other template each constant
    takes each of its values while the others keep their defaults.
    """
    yield {}
    if path in (REGISTERS, STAGED):
        yield from (one.configuration() for one in _tilings() if one.template == path)
        return
    for name, constant in template_of(path).constants.items():
        yield from ({name: value} for value in constant.values if value != constant.default)


def _tilings() -> list[Tiling]:
    return [
        Tiling("rows_1", STRIDED, 1),
        Tiling("rows_4", VEC4_MN, 4),
        Tiling("rows_8", VEC4_KN, 8),
        Tiling("lanes_8", VEC4_N, *LANES["lanes_8"], shares=True),
        Tiling("lanes_64", VEC4_KK, *LANES["lanes_64"], shares=True),
        Tiling("lanes_32x64", STRIDED, *LANES["lanes_32x64"], shares=True),
        Tiling("staged_64", STRIDED, 8, down=8),
        Tiling("staged_128", VEC4_KN, 8, down=16),
    ]
