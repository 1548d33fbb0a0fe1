"""Every file of the folder of templates is read, and compiles with the defaults of its slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.templates.corners import FOLDER, template_of
from tests.templates.test_product_templates import check_compiles

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.text.composer import common_functions
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_file, load_text, shaders_folder
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import spell

SHADERS = shaders_folder()
FOLDERS = (FOLDER, "tensors")
TEMPLATES = sorted(one for where in FOLDERS for one in (SHADERS / where).glob("*.wesl"))
FOR_ANY_KERNEL = SHADERS / FOLDER / "any_kernel.wgsl"
HALF = "wk_hold_f16"


def test_nothing_else_is_in_the_folder() -> None:
    there = {one for where in FOLDERS for one in (SHADERS / where).iterdir()}
    assert {*TEMPLATES, FOR_ANY_KERNEL} == there


@pytest.mark.gpu
@pytest.mark.parametrize("file", TEMPLATES, ids=lambda one: one.stem)
def test_a_template_compiles_as_it_stands(file: Path) -> None:
    texts = [one for where in (*FOLDERS, "lib") for one in (SHADERS / where).glob("*.wesl")]
    modules = {one.relative_to(SHADERS).as_posix(): one.read_text() for one in texts}
    path = file.relative_to(SHADERS)
    asked = parse_source(Text(path.as_posix(), file.read_text())).conditions
    constants = template_of(path.as_posix()).constants.values()
    conditions = dict.fromkeys(asked, False)
    conditions |= {one.name: bool(one.default) for one in constants if one.is_bool}

    check_compiles(wk.link(modules, path.with_suffix("").as_posix(), conditions=conditions).text)


def _has_halves() -> bool:
    driver: Any = find_driver("webgpu")
    return "shader-f16" in driver.open().features


@pytest.mark.gpu
def test_what_any_kernel_may_call_compiles_as_it_stands() -> None:
    source = load_file(FOR_ANY_KERNEL)
    half, text = source.functions[HALF].span, source.own.text.text
    without = text[: half.begin] + text[half.end :]

    check_compiles(f"enable f16;\n{text}" if _has_halves() else without)


ARGUMENTS = {
    "x: f32": "1.0",
    "x: f16": "1.0h",
    "x: vec2<f32>": "vec2(1.0)",
    "word: u32": "1u",
    "i: u32": "1u",
    "n: u32": "3u",
    "value: f32": "1.0",
    "value: i32": "1i",
    "value: u32": "1u",
    "condition: bool": "true",
    "code: u32": "1u",
    "bad: i32": "2i",
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", common_functions())
def test_what_any_kernel_may_call_composes(name: str) -> None:
    function = load_file(FOR_ANY_KERNEL).functions[name]
    if name == HALF and not _has_halves():
        return
    given = ", ".join(ARGUMENTS[f"{one.name}: {spell(one.type)}"] for one in function.parameters)
    call = f"{name}({given});" if function.returns is None else f"let v = {name}({given});"
    enable = "enable f16;\n" if name == HALF else ""
    main = f"@compute @workgroup_size(1) fn main() {{ {call} store_y(0u, load_x(0u)); }}\n"
    source = load_text(enable + main, "calls.wgsl", Path())
    operands = [Operand(one, "float32", 1) for one in "xy"]

    composed = compose("Calls", source, operands[:1], operands[1:])

    assert composed.text.count(f"fn {name}(") == 1
    check_compiles(composed.text)
