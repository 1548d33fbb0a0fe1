"""Errors of the compiler, led back to what the author wrote; imports; damaged kernels."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import inline, lab, operand

from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.modules.source import find_source, load_file
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span, Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit, TextBuilder
from wgsl_kernels.wgsl.syntax.tokens import tokenize

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

X = np.zeros(4, np.float32)


def error_of(source: Source) -> str:
    composed = compose("Probe", source, [operand("x", X)], [operand("y", X)], attrs=("alpha",))
    with pytest.raises(ShaderError) as caught:
        lab().compile(composed)
    return str(caught.value)


def test_every_character_knows_where_it_came_from() -> None:
    source = Text("a.wgsl", "one two\nthree")
    text = TextBuilder()
    text.generate("head\n")
    text.quote(source, Span(0, 13), [Edit(Span(4, 7), "2"), Edit(Span(8, 8), "new\nline ")])
    text.generate("\ntail")
    result = text.finish()
    assert result.composed.text == "head\none 2\nnew\nline three\ntail"
    places = {
        (1, 2): (COMPOSED, 1, 2), (2, 1): ("a.wgsl", 1, 1), (2, 5): ("a.wgsl", 1, 5),
        (3, 2): ("a.wgsl", 2, 1), (4, 2): ("a.wgsl", 2, 1), (4, 7): ("a.wgsl", 2, 2),
        (5, 3): (COMPOSED, 5, 3), (99, 1): (COMPOSED, 5, 4),
    }  # fmt: skip
    for (line, column), want in places.items():
        place = result.origin(line, column)[1]
        assert (place.file, place.line, place.column) == want


@pytest.mark.gpu
def test_a_compile_error_shows_the_authors_line_and_the_compilers_words() -> None:
    text = "struct Attrs { alpha: f32 }\nfn op(x: T) -> T {\n\tlet é = x; return attrs.alfa;\n}\n"
    message = error_of(inline(text))
    said = "Attrs has no 'alfa'; it has alpha. Did you mean 'alpha'?"
    assert message.startswith(f"Probe: <inline in test:1>:3:26: {said}\n")
    assert "    \tlet é = x; return attrs.alfa;\n    \t                        ^^^^\n" in message
    assert "invalid field accessor `alfa`" in message


@pytest.mark.gpu
def test_a_compile_error_comes_with_what_our_own_parser_wanted() -> None:
    message = error_of(inline("fn op(x: T) -> T {\n  let value = x\n  return value;\n}\n"))
    assert message.startswith("Probe: <inline in test:1>:3:3: want ';', found 'return'.\n")
    assert "\n      ^\nThe compiler said" in message
    with pytest.raises(ShaderError) as caught:
        error_of(inline("fn op(x: T) -> T {\n  let weight2 = x;\n  return weight3;\n}\n"))
    said = (
        "Probe: <inline in test:1>:3:10: nothing is called 'weight3' here. Did you mean 'weight2'?"
    )
    assert str(caught.value).startswith(said)


def test_a_declaration_that_cannot_be_read_is_shown_below_what_follows_from_it() -> None:
    with pytest.raises(ShaderError) as caught:
        error_of(inline("fn op(x) -> T {\n  return x;\n}\n"))
    assert str(caught.value).endswith(
        "or a @compute function.\nPart of the text could not be read:\n"
        "<inline in test:1>:1:8: want ':', found ')'.\n    fn op(x) -> T {\n           ^"
    )


@pytest.mark.gpu
def test_an_error_in_an_imported_module_points_there(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "twice.wesl").write_text(
        "import super::half::HALF as H;\nfn twice(x: f32) -> f32 {\n  let y: u32 = x;\n"
        "  return f32(y) * H;\n}\n"
    )
    (tmp_path / "parts" / "half.wgsl").write_text("const HALF = 0.5;\nconst OTHER = 1;\n")
    kernel = tmp_path / "k.wesl"
    kernel.write_text(
        "import package::parts::twice::twice;\nfn op(x: T) -> T { return twice(x); }\n"
    )
    message = error_of(load_file(kernel))
    assert f"{tmp_path}/parts/twice.wesl:3:16: want u32, found f32." in message
    assert "      let y: u32 = x;\n                   ^" in message


@pytest.mark.gpu
def test_modules_come_once_and_only_what_is_used(tmp_path: Path) -> None:
    (tmp_path / "a.wesl").write_text(
        "import super::b::fb;\nfn fa(x: f32) -> f32 { return fb(x); }\n"
        "fn unused() -> f32 { return 1.0; }\n"
    )
    (tmp_path / "b.wgsl").write_text("fn fb(x: f32) -> f32 { return hold(x); }\n")
    (tmp_path / "k.wesl").write_text(
        "import package::a::fa;\nimport package::b::fb;\n"
        "fn op(x: T) -> T { return fa(x) + fb(x); }\n"
    )
    source = load_file(tmp_path / "k.wesl")
    composed = compose("K", source, [operand("x", X)], [operand("y", X)])
    lab().compile(composed)
    assert composed.text.count("fn fb") == 1
    assert "unused" not in composed.text
    assert "fn hold" in composed.text
    assert load_file(tmp_path / "k.wesl").imported[0] is source.imported[0]


@pytest.mark.gpu
def test_names_that_clash_are_numbered_and_places_stay_the_authors(tmp_path: Path) -> None:
    (tmp_path / "a.wesl").write_text("fn f(x: f32) -> f32 { return x; }\n")
    (tmp_path / "b.wesl").write_text("\nfn f(x: f32) -> f32 {\n  return x * 1u;\n}\n")
    (tmp_path / "k.wesl").write_text(
        "import package::a;\nimport package::b::f as g;\n"
        "fn op(x: T) -> T { return a::f(x) + g(x) + package::b::f(x); }\n"
    )
    source = load_file(tmp_path / "k.wesl")
    assert "f(x) + g(x) + g(x);" in source.own.text.text
    message = error_of(source)
    assert f"{tmp_path}/b.wesl:3:14: " in message
    (tmp_path / "b.wesl").write_text("fn f(x: f32) -> f32 { return 2.0 * x; }\n")
    lab().compile(
        compose("K", load_file(tmp_path / "k.wesl"), [operand("x", X)], [operand("y", X)])
    )


def test_a_module_that_has_changed_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "k.wesl").write_text("import package::a::f;\nfn op(x: T) -> T { return f(x); }\n")
    for value in ("1.0", "2.0"):
        (tmp_path / "a.wgsl").write_text(f"fn f(x: f32) -> f32 {{ return {value}; }}\n")
        os.utime(tmp_path / "a.wgsl", (float(value), float(value)))
        library = load_file(tmp_path / "k.wesl").imported[0]
        assert value in library.text.text


def test_a_missing_module_points_at_its_import(tmp_path: Path) -> None:
    (tmp_path / "such.wgsl").write_text("const f = 1;\n")
    (tmp_path / "k.wesl").write_text("import package::suhc::f;\nfn op(x: T) -> T { return f; }\n")
    with pytest.raises(ShaderError) as caught:
        load_file(tmp_path / "k.wesl")
    message = str(caught.value)
    said = "there is no module package::suhc. Did you mean 'package::such'?"
    assert f"{tmp_path}/k.wesl:1:23: {said}" in message
    assert message.endswith("    import package::suhc::f;\n                          ^")
    with pytest.raises(ShaderError, match=r"shader file 'gone\.wgsl' is missing; tried"):
        find_source("gone.wgsl", tmp_path, "")


def test_a_name_that_nobody_declares_is_refused_before_the_compiler_sees_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.wgsl").write_text("fn f(x: f32) -> f32 { return holt(x) + load_z(0u); }\n")
    (tmp_path / "k.wesl").write_text("import package::a::f;\nfn op(x: T) -> T { return f(x); }\n")
    with pytest.raises(ShaderError) as caught:
        compose("K", load_file(tmp_path / "k.wesl"), [operand("x", X)], [operand("y", X)])
    said = f"{tmp_path}/a.wgsl:1:30: nothing is called 'holt' here. Did you mean 'hold'?"
    assert said in str(caught.value)


def test_a_library_cannot_take_the_name_of_what_the_composer_writes(tmp_path: Path) -> None:
    (tmp_path / "a.wgsl").write_text("fn load_x(i: u32) -> f32 { return 1.0; }\n")
    (tmp_path / "k.wesl").write_text(
        "import package::a::load_x;\n"
        "@compute @workgroup_size(1) fn main() { store_y(0u, load_x(0u) + load4_x(0u).x); }\n"
    )
    with pytest.raises(ShaderError, match=r"a\.wgsl:1:4: the composer has a 'load_x' for this"):
        compose("K", load_file(tmp_path / "k.wesl"), [operand("x", X)], [operand("y", X)])


@pytest.mark.gpu
def test_an_error_without_a_place_shows_where_the_kernel_begins() -> None:
    message = error_of(inline("\n@compute @workgroup_size(0)\nfn main() { store_y(0u, 1.0); }\n"))
    assert message.startswith(
        "Probe: <inline in test:1>:3:4: the shader does not compile: Workgroup size is out of "
        "range. The compiler named no line; this is where the kernel begins.\n"
    )


@pytest.mark.gpu
def test_an_error_in_generated_text_says_so() -> None:
    message = error_of(inline("fn op(x: T) -> vec3<f32> { return vec3<f32>(x); }\n"))
    assert "<composed text>:" in message
    assert "This line was written by the composer." in message


MAP = """\
struct Attrs { alpha: f32, n: u32 }
const HALF = 0.5;
fn half(v: f32) -> f32 {
  return v * HALF;
}
fn op(x: T) -> T {
  var y = half(x);
  for (var i = 0u; i < attrs.n; i++) { y = y * attrs.alpha; }
  return select(y, -y, y > 1.0);
}
"""
REDUCTION = """\
fn init() -> vec2<f32> { return vec2<f32>(0.0, 1.0); }
fn lift(x: T, i: u32) -> vec2<f32> {
  return vec2<f32>(x, f32(i));
}
fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return a + b;
}
fn finish(a: vec2<f32>, n: u32) -> T_y { return a.x / f32(n); }
"""
FREE = """\
struct Params { x_shape: vec2<u32>, alpha: f32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<uniform> params: Params;
var<workgroup> tile: array<f32, 16>;
@compute @workgroup_size(16)
fn main(@builtin(local_invocation_index) lane: u32) {
  tile[lane] = x[lane * params.x_shape[1]];
  workgroupBarrier();
  store_y(lane, tile[15u - lane] * params.alpha);
}
"""
KERNELS = (MAP, REDUCTION, FREE)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(200))
def test_damaged_kernels_are_refused_at_a_line_or_say_why_not(seed: int) -> None:
    rng = random.Random(seed)
    text = KERNELS[seed % len(KERNELS)]
    tokens = tokenize(Text("", text))
    token = rng.choice(tokens)
    kept = "" if rng.random() < 0.5 else token.text * 2
    damaged = text[: token.begin] + kept + text[token.end :]
    try:
        composed = compose(
            "Probe", inline(damaged), [operand("x", X)], [operand("y", X)], attrs=("alpha", "n")
        )
        lab().compile(composed)
        assert parse(composed.source_map.composed).problems == ()  # what is valid is never refused
    except ShaderError as error:
        message = str(error)
        named = "<inline in test:1>:" in message and "^" in message
        assert named or "<inline in test:1>" in message or "<composed text>:" in message, message
