"""The templates of forms compile with the defaults of their slots, in each configuration in use."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from tests.templates.corners import template_of
from tests.templates.test_product_templates import check_compiles

from wgsl_kernels.backends.webgpu.composing.skeletons import MAP, Skeleton
from wgsl_kernels.backends.webgpu.composing.source import shaders_folder
from wgsl_kernels.backends.webgpu.lowering.scan_spreads import ScanLayout, scan_loop
from wgsl_kernels.backends.webgpu.lowering.spreads import reduce_loop
from wgsl_kernels.engine.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

BOTH = (False, True)


def scans() -> Iterator[Skeleton]:
    driver: Any = find_driver("webgpu")
    layout = ScanLayout(8, 64, 1, driver.open().policy)
    methods: Any = ("one_by_one", "columns", "fours", "tiles")
    stages: Any = ("whole", "partial", "final")
    for method, stage, exclusive, backward in itertools.product(methods, stages, BOTH, BOTH):
        yield scan_loop(method, stage, layout, exclusive=exclusive, backward=backward)


def reductions() -> Iterator[Skeleton]:
    driver: Any = find_driver("webgpu")
    variants: Any = ["rows", "columns", "eights", "lanes"]
    variants += ["subgroups"] if "subgroup" in driver.open().features else []
    stages: Any = ("whole", "partial", "final", "apply")
    for variant, stage, maps, wide in itertools.product(variants, stages, BOTH, BOTH):
        in_one_row = stage == "final" or (maps and variant == "eights")
        if (in_one_row and variant in ("columns", "eights")) or (stage == "apply" and not maps):
            continue
        for flag in BOTH:
            flags = {"packed": flag, "lines": flag, "even": flag, "vectors": maps or wide or flag}
            loop = reduce_loop(variant, stage, maps=maps, **flags)
            yield loop.given(WIDE=wide and stage != "final")


def windows() -> Iterator[Skeleton]:
    yield Skeleton("templates/window_small.wesl")
    for vec4, dilated, stage in itertools.product(BOTH, BOTH, ("whole", "BANDS", "JOINS")):
        flags = {"VEC4": vec4 and stage != "JOINS", "DILATED": dilated, stage: True}
        flags.pop("whole", None)
        yield Skeleton("templates/window.wesl", tuple(flags.items()))


def maps() -> Iterator[Skeleton]:
    for vec4, across in itertools.product(BOTH, BOTH):
        yield MAP.given(VEC4=vec4, ACROSS=across)


@pytest.mark.gpu
@pytest.mark.parametrize("every", [scans, reductions, windows, maps])
def test_a_template_of_a_form_compiles_in_every_configuration(every: Any) -> None:
    for one in dict.fromkeys(every()):
        check_compiles(template_of(one.path).module(dict(one.configuration)).text.text)


def test_every_template_has_slots_for_what_it_is_made_of() -> None:
    folder = shaders_folder() / "templates"
    entries = [one for one in folder.glob("*.wesl") if "@compute" in one.read_text()]
    assert len(entries) > 10
    for one in entries:
        assert template_of(f"templates/{one.name}").slot_texts
