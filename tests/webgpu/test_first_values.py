"""``var x: T;`` in a loop is zero in every round, as WGSL has it, whatever the compiler does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_text

STRUCT = "struct S { a: array<f32, 3>, b: bool, m: mat2x2<f32>, v: vec3f }\n"
CASES: dict[str, tuple[str, float]] = {
    "for": (
        "fn op(x: T) -> T {\n  var s = T(0);\n"
        "  for (var i = 0; i < 4; i++) { var v: T; v += x; s += v; }\n  return s;\n}\n",
        4,
    ),
    "while, switch and if": (
        "fn op(x: T) -> T {\n  var s = T(0);\n  var i = 0;\n"
        "  while (i < 4) {\n    switch (i) {\n"
        "      case 1: { var v: T; v += x; s += v; }\n"
        "      default: { { if (i > 5) { } else if (true) { var u: u32; u++; s += T(u); } } }\n"
        "    }\n    i++;\n    for (var j: i32; j < 2; j++) { s += x * 10.0; }\n  }\n"
        "  return s;\n}\n",
        84,
    ),
    "loop and continuing": (
        "fn op(x: T) -> T {\n  var n = 0;\n  var s = T(0);\n"
        "  loop {\n    var w: array<vec2<i32>, 2>;\n    w[1].y += 1;\n    s += x * T(w[1].y);\n"
        "    continuing { var c: i32; c += 1; n += c; break if n >= 4; }\n  }\n  return s;\n}\n",
        4,
    ),
    "structs": (
        f"{STRUCT}fn op(x: T) -> T {{\n  var s = T(0);\n"
        "  for (var i = 0; i < 4; i++) {\n    var w: S;\n    if (w.b) { s += 100.0; }\n"
        "    w.b = true;\n    w.a[1] += x;\n    w.m[1][1] += x;\n    w.v.y += x;\n"
        "    s += w.a[1] + w.m[1][1] + w.v.y;\n  }\n  return s;\n}\n",
        12,
    ),
    "a function with a loop, called in a loop": (
        "fn h(x: T) -> T {\n  var s: T;\n"
        "  for (var i = 0; i < 2; i++) { var v: T; v += x; s += v; }\n  return s;\n}\n"
        "fn op(x: T) -> T {\n  var s = T(0);\n"
        "  for (var i = 0; i < 4; i++) { s += h(x); }\n  return s;\n}\n",
        8,
    ),
    "a function called in a loop": (
        "fn g(x: T) -> T { var v: T; v += x; return v; }\n"
        "fn op(x: T) -> T {\n  var s = T(0);\n"
        "  for (var i = 0; i < 4; i++) { s += g(x); }\n  return s;\n}\n",
        4,
    ),
    "a type with a comment": (
        "alias Row = array<f32, 2>;\nfn op(x: T) -> T {\n  var s = T(0);\n"
        "  for (var i = 0; i < 4; i++) { var v: /* two */ Row /* here */ ; v[0] += x; "
        "s += v[0]; }\n  return s;\n}\n",
        4,
    ),
}


@pytest.mark.gpu
@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("fusion", ["never", "always"])
def test_a_variable_in_a_loop_begins_with_zero_in_every_round(what: str, fusion: Any) -> None:
    text, expected = CASES[what]
    wk.wgsl_kernel("Rounds", text, override=True)

    def run(x: wk.Tensor) -> wk.Tensor:
        y = wk.engine().run_kernel("Rounds", {"x": x * 1.0})
        assert isinstance(y, wk.Tensor)
        return wk.negative(y)

    try:
        with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
            x = wk.ones((3,))
            fast = wk.capture(run)
            found = [run(x).numpy(), fast(x).numpy(), fast(x).numpy()]
    finally:
        wk.unregister_kernel("Rounds", "webgpu")
    for one in found:
        np.testing.assert_array_equal(one, np.full(3, -expected, np.float32))


@pytest.mark.gpu
def test_the_same_holds_in_a_kernel_with_its_own_main_and_in_what_it_imports(
    tmp_path: Path,
) -> None:
    (tmp_path / "sums.wgsl").write_text(
        "struct Sums { a: f32 }\nfn summed(x: f32) -> f32 {\n  var s = 0.0;\n"
        "  for (var i = 0; i < 4; i++) { var v: Sums; v.a += x; s += v.a; }\n  return s;\n}\n"
    )
    (tmp_path / "k.wgsl").write_text(
        "import package::sums::summed;\n"
        "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
        "@compute @workgroup_size(1)\nfn main() {\n"
        "  for (var i = 0u; i < 3u; i++) { var v: f32; v += summed(x[i]); y[i] = v; }\n}\n"
    )
    wk.signature("Rounds", override=True)(lambda x, /: x.like())
    wk.wgsl_kernel("Rounds", tmp_path / "k.wgsl", groups=lambda: (1,), override=True)
    try:
        with wk.use_backend("webgpu"):
            y = wk.engine().run_kernel("Rounds", {"x": wk.tensor([1.0, 2.0, 3.0])})
            assert isinstance(y, wk.Tensor)
            assert y.tolist() == [4.0, 8.0, 12.0]
    finally:
        wk.unregister_kernel("Rounds", "webgpu")


def test_only_variables_in_loops_change_and_places_stay_the_authors() -> None:
    text = (
        "fn op(x: T) -> T {\n  var a: T;\n"
        "  for (var i: i32; i < 2; i++) { var b: T; a += T(true); }\n  return a;\n}\n"
    )
    composed = compose(
        "K",
        load_text(text, "a.wgsl", Path()),
        [Operand("x", "float32", 1)],
        [Operand("y", "float32", 1)],
    )
    assert "var a: T;" in composed.text
    assert "for (var i: i32;" in composed.text
    assert "{ var b: T = T(); a += T(true); }" in composed.text
    place = composed.source_map.composed.place(composed.text.index("T(true)"))
    _, origin = composed.source_map.origin(place.line, place.column)
    assert origin.line == 3
    assert text.splitlines()[2][origin.column - 1 :].startswith("T(true);")
