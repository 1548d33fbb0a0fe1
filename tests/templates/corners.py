"""Every template with the configurations at the corners of its space, for several compilers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.adapter.policy import GPU, SOFTWARE
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.lowering.map import map_loop
from wgsl_kernels.backends.webgpu.lowering.scan import ScanLayout, scan_loop
from wgsl_kernels.backends.webgpu.lowering.spreads import reduce_loop
from wgsl_kernels.backends.webgpu.modules.source import shaders_folder
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
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
BOTH = (False, True)


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

    What goes together in a product follows from its tilings, in a form from how it is lowered; of
    any other template each constant takes each of its values while the others keep their defaults.
    """
    yield {}
    if path in (REGISTERS, STAGED):
        yield from (one.configuration() for one in _tilings() if one.template == path)
        return
    in_use = [one for one in dict.fromkeys(_forms()) if one.path == path and one.configuration]
    if in_use:
        yield from (dict(one.configuration) for one in in_use)
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


def _forms() -> Iterator[Instance]:
    """Yield the maps, reductions, scans and windows that are in use, with configurations."""
    yield from _maps()
    yield from _reductions()
    yield from _scans()
    yield from _windows()


def _maps() -> Iterator[Instance]:
    for policy, vec4, across in itertools.product((SOFTWARE, GPU), BOTH, BOTH):
        yield map_loop(policy, vec4=vec4, across=across)


def _reductions() -> Iterator[Instance]:
    variants: Any = ("rows", "columns", "eights", "lanes", "subgroups")
    stages: Any = ("whole", "partial", "final", "apply")
    for variant, stage, maps, wide in itertools.product(variants, stages, BOTH, BOTH):
        in_one_row = stage == "final" or (maps and variant == "eights")
        if (in_one_row and variant in ("columns", "eights")) or (stage == "apply" and not maps):
            continue
        for flag in BOTH:
            flags = {"packed": flag, "lines": flag, "even": flag, "vectors": maps or wide or flag}
            loop = reduce_loop(variant, stage, maps=maps, **flags)
            yield loop.given(WIDE=wide and stage != "final")


def _scans() -> Iterator[Instance]:
    layout = ScanLayout(8, 64, 1, SOFTWARE)
    methods: Any = ("one_by_one", "columns", "fours", "tiles")
    stages: Any = ("whole", "partial", "final")
    for method, stage, exclusive, backward in itertools.product(methods, stages, BOTH, BOTH):
        yield scan_loop(method, stage, layout, exclusive=exclusive, backward=backward)


def _windows() -> Iterator[Instance]:
    for vec4, dilated, stage in itertools.product(BOTH, BOTH, ("whole", "BANDS", "JOINS")):
        flags = {"VEC4": vec4 and stage != "JOINS", "DILATED": dilated, stage: True}
        flags.pop("whole", None)
        yield Instance("templates/window.wesl", tuple(flags.items()))
