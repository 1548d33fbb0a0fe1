"""Errors of the compiler, led back to what the author wrote; includes; damaged kernels."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import inline, lab, operand

from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.source import find_source, load_file
from wgsl_kernels.backends.webgpu.wgsl.parser import parse
from wgsl_kernels.backends.webgpu.wgsl.places import Span, Text
from wgsl_kernels.backends.webgpu.wgsl.source_map import COMPOSED, Composition, Edit
from wgsl_kernels.backends.webgpu.wgsl.tokens import tokenize
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.composing.source import Source

X = np.zeros(4, np.float32)


def error_of(source: Source) -> str:
    composed = compose("Probe", source, [operand("x", X)], [operand("y", X)], attrs=("alpha",))
    with pytest.raises(ShaderError) as caught:
        lab().compile(composed)
    return str(caught.value)


def test_every_character_knows_where_it_came_from() -> None:
    source = Text("a.wgsl", "one two\nthree")
    text = Composition()
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
    assert message.startswith("Probe: <inline in test:1>:3:26: the shader does not compile.\n")
    assert "    \tlet é = x; return attrs.alfa;\n    \t                        ^\n" in message
    assert "invalid field accessor `alfa`" in message


@pytest.mark.gpu
def test_a_compile_error_comes_with_what_our_own_parser_wanted() -> None:
    message = error_of(inline("fn op(x: T) -> T {\n  let value = x\n  return value;\n}\n"))
    assert message.startswith("Probe: <inline in test:1>:3:3: the shader does not compile.\n")
    assert "\nHint: <inline in test:1>:2:16: want ';', found 'return'.\nThe compiler" in message
    message = error_of(inline("fn op(x: T) -> T {\n  let weight2 = x;\n  return weight3;\n}\n"))
    assert "\nHint: nothing is called 'weight3' here. Did you mean 'weight2'?\nThe comp" in message


def test_a_declaration_that_cannot_be_read_is_shown_below_what_follows_from_it() -> None:
    with pytest.raises(ShaderError) as caught:
        error_of(inline("fn op(x) -> T {\n  return x;\n}\n"))
    assert str(caught.value).endswith(
        "or a @compute function.\nPart of the text could not be read:\n"
        "<inline in test:1>:1:8: want ':', found ')'.\n    fn op(x) -> T {\n           ^"
    )


@pytest.mark.gpu
def test_an_error_in_an_included_file_points_there(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "twice.wgsl").write_text(
        '#include "half.wgsl"\nfn twice(x: f32) -> f32 {\n  let y = x\n  return y * HALF;\n}\n'
    )
    (tmp_path / "parts" / "half.wgsl").write_text("const HALF = 0.5;\nconst OTHER = 1;\n")
    kernel = tmp_path / "k.wgsl"
    kernel.write_text('#include "parts/twice.wgsl"\nfn op(x: T) -> T { return twice(x); }\n')
    message = error_of(load_file(kernel))
    assert f"{tmp_path}/parts/twice.wgsl:4:3: " in message
    assert "      return y * HALF;\n      ^" in message.replace("        ^", "      ^")
    assert "expected `;`" in message


@pytest.mark.gpu
def test_included_files_come_once_and_only_what_is_used(tmp_path: Path) -> None:
    (tmp_path / "a.wgsl").write_text(
        '#include "b.wgsl"\nfn fa(x: f32) -> f32 { return fb(x); }\n'
        "fn unused() -> f32 { return 1.0; }\n"
    )
    (tmp_path / "b.wgsl").write_text("fn fb(x: f32) -> f32 { return hold(x); }\n")
    (tmp_path / "k.wgsl").write_text(
        '#include "a.wgsl"\n#include "b.wgsl"\nfn op(x: T) -> T { return fa(x) + fb(x); }\n'
    )
    source = load_file(tmp_path / "k.wgsl")
    composed = compose("K", source, [operand("x", X)], [operand("y", X)])
    lab().compile(composed)
    assert composed.text.count("fn fb") == 1
    assert "unused" not in composed.text
    assert "fn hold" in composed.text
    assert load_file(tmp_path / "k.wgsl").included[0] is source.included[0]


def test_a_file_stands_for_what_the_files_that_it_includes_declare(tmp_path: Path) -> None:
    (tmp_path / "a.wgsl").write_text("fn f(x: f32) -> f32 { return x; }\n")
    (tmp_path / "b.wgsl").write_text('#include "a.wgsl"\nfn f(x: f32) -> f32 { return -x; }\n')
    (tmp_path / "k.wgsl").write_text(
        '#include "a.wgsl"\n#include "b.wgsl"\nfn op(x: T) -> T { return f(x); }\n'
    )
    source = load_file(tmp_path / "k.wgsl")
    composed = compose("K", source, [operand("x", X)], [operand("y", X)])
    assert composed.text.count("fn f(") == 1
    assert "return -x;" in composed.text


@pytest.mark.gpu
def test_an_error_in_what_stands_for_another_declaration_points_there(tmp_path: Path) -> None:
    (tmp_path / "a.wgsl").write_text("fn f(x: f32) -> f32 { return x; }\n")
    (tmp_path / "b.wgsl").write_text(
        '#include "a.wgsl"\n\nfn f(x: f32) -> f32 {\n  return nothing;\n}\n'
    )
    (tmp_path / "k.wgsl").write_text(
        '#include "a.wgsl"\n#include "b.wgsl"\nfn op(x: T) -> T { return f(x); }\n'
    )
    message = error_of(load_file(tmp_path / "k.wgsl"))
    assert f"{tmp_path}/b.wgsl:4:10: " in message
    assert "a.wgsl" not in message


def test_a_missing_include_lists_the_paths_tried(tmp_path: Path) -> None:
    (tmp_path / "k.wgsl").write_text('\n#include "no/such.wgsl"\n')
    with pytest.raises(ShaderError) as caught:
        load_file(tmp_path / "k.wgsl")
    message = str(caught.value)
    assert f"{tmp_path}/k.wgsl:2:1: the include is missing; tried " in message
    assert f"{tmp_path}/no/such.wgsl, " in message
    assert message.endswith('    #include "no/such.wgsl"\n    ^')
    with pytest.raises(ShaderError, match=r"shader file 'gone\.wgsl' is missing; tried"):
        find_source("gone.wgsl", tmp_path, "")


def test_an_include_cycle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.wgsl").write_text('#include "b.wgsl"\n')
    (tmp_path / "b.wgsl").write_text('#include "a.wgsl"\n')
    with pytest.raises(ShaderError, match=r"closes a cycle: .*a\.wgsl -> .*b\.wgsl -> .*a\.wgsl"):
        load_file(tmp_path / "a.wgsl")


@pytest.mark.gpu
def test_an_error_without_a_place_shows_where_the_kernel_begins() -> None:
    message = error_of(inline("\n@compute @workgroup_size(0)\nfn main() { store_y(0u, 1.0); }\n"))
    assert message.startswith(
        "Probe: <inline in test:1>:3:4: the shader does not compile. The "
        "compiler named no line; this is where the kernel begins.\n"
    )
    assert "Workgroup size is out of range" in message


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
