"""The templates of products compile in each tiling of each operand file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.templates.corners import template_of

from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.template_files import source_of
from wgsl_kernels.backends.webgpu.products.tilings import (
    LANES,
    REGISTERS,
    STAGED,
    STAGED_DOWN,
    STRIDED,
    VEC4_KK,
    VEC4_KN,
    VEC4_MN,
    VEC4_N,
    Tiling,
    Vec4Axes,
)
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYOUTS = (STRIDED, VEC4_KN, VEC4_KK, VEC4_MN, VEC4_N)
OPERANDS = {
    "matrix": (("a", "b"), LAYOUTS),
    "conv_window": (("x", "filter"), (STRIDED, VEC4_KN, VEC4_N)),
    "conv_input_gradient": (("dy", "filter"), (STRIDED, VEC4_KK)),
    "conv_filter_gradient": (("x", "dy"), (STRIDED, VEC4_MN)),
}


def check_compiles(text: str) -> None:
    """Have the device's compiler read ``text``; what is wrong with it raises."""
    driver: Any = find_driver("webgpu")
    device = driver.open()
    device._device.create_shader_module(code=text)


def tilings_for(layout: Vec4Axes) -> list[Tiling]:
    staged = layout if layout == VEC4_KN else STRIDED
    sharing = layout if layout.a != "m" else VEC4_MN
    return [
        *(Tiling(f"rows_{rows}", layout, rows) for rows in (1, 4, 8)),
        *(Tiling(name, sharing, *size, shares=True) for name, size in LANES.items()),
        *(Tiling(name, staged, 8, down=down) for name, down in STAGED_DOWN.items()),
    ]


def fits(tiling: Tiling) -> bool:
    """Say whether an invocation has whole loads of a, and the adapter what the tiling wants."""
    driver: Any = find_driver("webgpu")
    if tiling.shares and not driver.open().policy.shares_lanes:
        return False
    return tiling.layout.a != "m" or tiling.rows % 4 == 0


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda one: one.name)
def test_matrices_compile_in_every_tiling(layout: Vec4Axes) -> None:
    for tiling in filter(fits, tilings_for(layout)):
        compose_and_check("matrix", tiling, {}, "float32")


@pytest.mark.gpu
@pytest.mark.parametrize("template", [REGISTERS, STAGED])
def test_matrices_of_integers_compile(template: str) -> None:
    down = 8 if template == STAGED else 0
    compose_and_check("matrix", Tiling("", VEC4_KN, 8, down=down), {"INTEGER": True}, "int32")


@pytest.mark.gpu
@pytest.mark.parametrize("operands", [name for name in OPERANDS if name != "matrix"])
def test_convolutions_compile_in_every_tiling(operands: str) -> None:
    for layout in OPERANDS[operands][1]:
        for tiling in filter(fits, tilings_for(layout)):
            compose_and_check(operands, tiling, {}, "float32")


def compose_and_check(operands: str, tiling: Tiling, more: Mapping[str, int], dtype: str) -> None:
    template = template_of(tiling.template, f"operands/{operands}.wesl")
    module = template.module({**tiling.configuration(), **more})
    inputs = [Operand(name, dtype, 2) for name in OPERANDS[operands][0]]
    names = ("across", "part_size", "line", "y_steps", "batch_shape")
    fields = ("batches", "rows", "cols", "taps", "channels", "tap_block", "channel_block")
    geometry = ("image", "places", "window", "step", "dilation", "before", "channels_first")
    composed = compose(
        "Product",
        source_of(module),
        inputs,
        [Operand("y", dtype, 2)],
        attrs=(*names, *fields, *geometry),
    )
    check_compiles(composed.text)
