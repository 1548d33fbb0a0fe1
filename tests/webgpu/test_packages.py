"""Which modules a kernel may import: its folder's, wesl.toml's, and slots that it fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import lab, operand

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.modules.source import load_file, load_text
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

X = np.zeros(4, np.float32)
USES_HALF = "import package::half::HALF;\nfn op(x: T) -> T { return x * HALF; }\n"
MAIN = "@compute @workgroup_size(1)\nfn main() { store_y(0u, scaled(load_x(0u))); }\n"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text)


def half_of(source: Source) -> str:
    value = source.constants["HALF"].value
    assert value is not None
    return spell(value)


def refusal(path: Path) -> str:
    with pytest.raises(wk.ShaderError) as caught:
        load_file(path)
    return str(caught.value)


def test_package_is_the_folder_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, half_dot_wgsl="const HALF = 0.1;\n")
    write(tmp_path / "inner", k_dot_wesl=USES_HALF, half_dot_wgsl="const HALF = 0.2;\n")
    assert half_of(load_file(tmp_path / "inner" / "k.wesl")) == "0.2"
    assert half_of(load_text(USES_HALF, "<inline>", tmp_path)) == "0.1"


def test_wesl_wins_where_a_module_is_there_in_both_ways(tmp_path: Path) -> None:
    write(tmp_path, half_dot_wgsl="const HALF = 0.1;\n", half_dot_wesl="const HALF = 0.2;\n")
    assert half_of(load_text(USES_HALF, "<inline>", tmp_path)) == "0.2"


def test_a_wesl_toml_up_to_the_project_says_where_the_root_is(tmp_path: Path) -> None:
    inner = tmp_path / "app" / "kernels"
    write(tmp_path, wesl_dot_toml='[package]\nroot = "."\n', half_dot_wgsl="const HALF = 0.1;\n")
    write(tmp_path / "app" / "shaders", half_dot_wgsl="const HALF = 0.3;\n")
    write(inner, k_dot_wesl=USES_HALF, half_dot_wgsl="const HALF = 0.2;\n")
    assert half_of(load_file(inner / "k.wesl")) == "0.2"  # no project, so only the folder

    write(tmp_path / "app", pyproject_dot_toml="")
    assert half_of(load_text(USES_HALF + "\n", "<inline>", inner)) == "0.2"  # below the project
    write(tmp_path / "app", wesl_dot_toml='edition = "2026_pre"\n')  # its root is ./shaders
    assert half_of(load_text(USES_HALF + "\n\n", "<inline>", inner)) == "0.3"


def test_dependencies_with_a_path_are_read_and_others_refused(tmp_path: Path) -> None:
    settings = '[package]\nroot = "."\n[dependencies]\n'
    write(
        tmp_path / "app", wesl_dot_toml=f'{settings}lib = {{ path = "../lib" }}\nnpm_one = {{}}\n'
    )
    write(tmp_path / "lib", wesl_dot_toml="[package]\n")
    write(tmp_path / "lib" / "shaders", half_dot_wgsl="const HALF = 0.4;\n")
    kernel = tmp_path / "app" / "k.wesl"
    kernel.write_text(USES_HALF.replace("package", "lib"))
    assert half_of(load_file(kernel)) == "0.4"

    kernel.write_text(USES_HALF.replace("package", "npm_one"))
    said = (
        "wesl.toml does not say where package 'npm_one' is; want npm_one = { path = \"…\" } in it."
    )
    assert f"{kernel}:1:23: {said}" in refusal(kernel)
    (tmp_path / "app" / "wesl.toml").write_text("[package\n")
    assert "wesl.toml: cannot be read: " in refusal(kernel)
    for text, said in (
        ("[package]\nroot = 3\n", "wesl.toml:2: root is 3; want a path in quotes."),
        ("package = 3\n", "wesl.toml:1: package is 3; want a table, [package]."),
        ("[dependencies]\n\nlib = { path = 3 }\n", "toml:3: dependencies.lib.path is 3; want"),
    ):
        (tmp_path / "app" / "wesl.toml").write_text(text)
        assert said in refusal(kernel)


def test_a_kernel_takes_no_conditions(tmp_path: Path) -> None:
    write(tmp_path, k_dot_wesl="@if(fast) const A = 1;\nfn op(x: T) -> T { return x; }\n")
    said = "k.wesl:1:11: a kernel is linked without conditions; apply them with wgsl_kernels.link."
    assert said in refusal(tmp_path / "k.wesl")


def template(folder: Path) -> None:
    write(
        folder,
        scale_dot_wesl=f"import super::scale_slots::scaled;\n{MAIN}",
        scale_slots_dot_wesl="// @slots\nfn scaled(x: f32) -> f32 { return FACTOR * x; }\n"
        "const FACTOR = 2.0;\n",
    )


def composed(path: Path) -> str:
    found = compose("K", load_file(path), [operand("x", X)], [operand("y", X)])
    lab().compile(found)
    return found.text


@pytest.mark.gpu
def test_a_kernel_fills_the_slots_of_the_template_that_it_imports(tmp_path: Path) -> None:
    template(tmp_path)
    assert "FACTOR = 2.0;" in composed(tmp_path / "scale.wesl")

    start = "public import package::scale::main;\n"
    write(tmp_path, k_dot_wesl=f"{start}const FACTOR = 3.0;\n")
    text = composed(tmp_path / "k.wesl")
    assert "FACTOR = 3.0;" in text
    assert "2.0" not in text

    write(tmp_path, k_dot_wesl=f"{start}fn scaled(x: T) -> f32 {{ return -x; }}\n\n")
    text = composed(tmp_path / "k.wesl")
    assert "return -x;" in text
    assert "FACTOR" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fn scald(x: f32) -> f32 { return x; }\n", "nothing uses 'scald'. Did you mean 'scaled'?"),
        ("fn scaled(x: u32) -> f32 { return 1.0; }\n", "'scaled' takes u32 here; want f32."),
    ],
)
def test_a_slot_that_does_not_fit_is_refused_with_both_places(
    tmp_path: Path, given: str, said: str
) -> None:
    template(tmp_path)
    write(tmp_path, k_dot_wesl=f"public import package::scale::main;\n{given}")
    message = refusal(tmp_path / "k.wesl")
    assert f"{tmp_path}/k.wesl:2:" in message
    assert said in message
    assert f"{tmp_path}/scale_slots.wesl:2:4: the default is here." in message
