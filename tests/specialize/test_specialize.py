"""What is left of a module once its constants are known."""

from __future__ import annotations

import pytest
from tests.specialize.programs import linked, specialized
from tests.wesl.linked import parts

import wgsl_kernels as wk
from wgsl_kernels.wgsl.specialize.module import specialize

BODIES = [
    # Folding, with parentheses kept right.
    ("y = x * select(a + b, c, N == 4u);", "y = x * c;"),
    ("y = x * select(a + b, c, N != 4u);", "y = x * (a + b);"),
    ("y = x + (N - 4u);", "y = x;"),
    ("y = ((x + N * 0u) * (1u * x)) << (N - 4u);", "y = ((x) * (x));"),
    ("y = N * 2u - 1u;", "y = 7u;"),
    ("let k = N / 2u; y = x[k];", "y = x[2u];"),
    ("let k: i32 = 3; z = -k;", "z = -3i;"),
    ("const k = 3; f = f32(k);", "f = f32(3);"),
    ("y = vec2(N, x).x;", "y = vec2(4u, x).x;"),
    ("var t: array<f32, N * 2u>;", "var t: array<f32, 8u>;"),
    # Floats stay, and so does what might change its type.
    ("f = 0.0 + f * 1.0 + F;", "f = 0.0 + f * 1.0 + F;"),
    ("f = f + 0; f = select(1, f, N == 4u);", "f = f + 0; f = f;"),
    ("f = select(1, f, N != 4u);", "f = select(1, f, false);"),
    ("f = f * select(F, f, N != 4u);", "f = f * select(F, f, false);"),
    # Names in the way.
    ("let N = x; y = N + 0u;", "let N = x; y = N;"),
    ("{ let N = 5u; y = N; } y = N;", "y = 5u; y = 4u;"),
    ("{ let q = x; } y = x;", "{ let q = x; } y = x;"),
    # What runs counts.
    ("y = select(g(), x, N == 4u);", "y = select(g(), x, true);"),
    ("y = select(h(), x, N == 4u);", "y = x;"),
    ("let z0 = N - 4u; y = x / z0; y = x % z0;", "y = x; y = (x & 0u);"),
    ("let s = N * 9u; y = x << s;", "y = x << 4u;"),
    # Branches.
    ("if (N == 4u) { y = 1u; } else { y = 2u; }", "y = 1u;"),
    ("if (x == 0u) { y = 1u; } else if (N == 4u) { y = 2u; } else { y = 3u; }",
     "if (x == 0u) { y = 1u; } else { y = 2u; }"),
    ("if (N > 9u) { y = 1u; } else if (x == 0u) { y = 2u; }", "if (x == 0u) { y = 2u; }"),
    ("if (N == 4u) { return; } y = 1u;", "return;"),
    ("if ((N == 4u && x > 1u) || N > 9u) { y = 1u; }", "if ((x > 1u)) { y = 1u; }"),
    ("switch (N) { case 3u: { y = 3u; } case 4u: { y = 4u; break; } default: { } }", "y = 4u;"),
    ("switch (N) { case 4u: { if (x > 0u) { break; } y = 1u; } default: { } }",
     "switch 4u { default: { if (x > 0u) { break; } y = 1u; } }"),
    ("for (var i = N; i < 4u; i++) { y = i; }", ""),
    ("while (N < 4u) { y = 1u; }", ""),
    ("const_assert N == 4u;", ""),
    # Loops.
    ("for (var i = 0u; i < 2u; i++) { y += i; }", "for (var i = 0u; i < 2u; i++) { y += i; }"),
    ("for (var i = 0u; i < 2u; i++) { y += i; } // @unroll", "y += 0u; y += 1u;"),
    ("for (var i = 3; i > 0; i -= 2) { let q = x; z += i; } // @unroll",
     "{ let q = x; z += 3i; } { let q = x; z += 1i; }"),
    ("for (var i = 0u; i < 2u; i++) { for (var j = i; j < 2u; j++) { y += i + i + j; }} // @unroll",
     "y += 0u; y += 1u; y += 3u;"),
    ("loop { var t: vec2<f32>; var u = 1.0; if (x > 1u) { break; } }",
     "loop { var t: vec2<f32> = vec2<f32>(); var u = 1.0; if (x > 1u) { break; } }"),
    ("for (var i = 0u; i < 1u; i++) { var t: u32; t += i; } // @unroll",
     "{ var t: u32; t += 0u; }"),
]  # fmt: skip
MODULE = """
const N = 2u;
const F = 0.5;
var<private> count: u32;
fn g() -> u32 {{ count += 1u; return count; }}
fn h() -> u32 {{ var t = 1u; t += count; return t; }}
fn work(x: u32, a: u32, b: u32, c: u32) {{ var y: u32; var z: i32; var f: f32;
{}
}}
"""


@pytest.mark.parametrize(("body", "left"), BODIES)
def test_a_body_becomes(body: str, left: str) -> None:
    found = specialized(MODULE.format(body), N=4)
    expected = parts(MODULE.format(left))
    expected -= parts("const N = 2u;")
    if "F" not in left:
        expected -= parts("const F = 0.5;")
    assert parts(found) == expected, found


def test_what_entry_points_do_not_reach_goes() -> None:
    text = """
    const SHARE = true; const PI = 3.0; const SIZE = 8u;
    alias Number = f32; struct Unused { a: f32 }
    override scale = 1.0;
    @group(0) @binding(0) var<storage, read_write> y: array<Number>;
    var<workgroup> tile: array<f32, SIZE>;
    fn shared_(i: u32) -> f32 { return tile[i]; }
    fn alone(i: u32) -> f32 { return PI; }
    const_assert SIZE > 4u;
    @compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) i: u32) {
      if (SHARE) { y[i] = shared_(i); } else { y[i] = alone(i); }
    }
    """
    found = specialized(text, SHARE=False)
    assert parts(found) == parts("""
    const PI = 3.0; alias Number = f32; override scale = 1.0;
    @group(0) @binding(0) var<storage, read_write> y: array<Number>;
    fn alone(i: u32) -> f32 { return PI; }
    @compute @workgroup_size(8u)
    fn main(@builtin(local_invocation_index) i: u32) { y[i] = alone(i); }
    """)


def test_numbers_of_any_type_are_given() -> None:
    text = "const A: i32 = 1; const B = 1.0; const C = 2f; const D = true; fn f() {} const E = 1;"
    module = linked(text + " fn g() -> f32 { return f32(A) + B + C + f32(D) + f32(E); }")
    found = specialize(module, {"A": -(2**31), "B": 2, "C": -0.5, "D": False, "E": -1})
    assert (
        "return f32(i32(-2147483648)) + B + C + f32(false) + f32(-1);"
        in found.write().composed.text
    )


PLACES = [
    ("y = N / (N - 4u);", "main.wesl:8:5: 4 / 0 has no value. With N = 4u."),
    ("const k = 2147483647i + 1i;", "the result of '+' is 2147483648, which no i32 holds."),
    ("y = 1u << (N * 8u);", "a shift by 32 moves all 32 bits out. With N = 4u."),
    ("const_assert N == 5u;", "main.wesl:8:1: this const_assert does not hold. With N = 4u."),
    ("for (var i = 0u; i < x; i++) { } // @unroll", "8:18: to unroll this loop, its condition"),
    ("for (var i = x; i < 4u; i++) { } // @unroll", "8:6: to unroll this loop, the first 'i'"),
    ("for (var i = 0u; i < 4u; i += x) { } // @unroll", "to unroll this loop, the next 'i' must"),
    ("for (var i = 0u; i < 4u; i++) { i += 1u; } // @unroll", "8:33: the body of a loop that is"),
    ("for (var i = 0u; i < 257u; i++) { y += i; } // @unroll", "8:1: this loop has more than 256"),
    ("for (var i = 0u; i < 256u; i++) { for (var j = 0u; j < 256u; j++) { y += i; } } // @unroll",
     "8:35: the function has more than 4096 statements once this is unrolled. In round i = 15u."),
    ("for (var i = 0u; i < 4u; i++) { if (x == i) { break; } } // @unroll",
     "8:1: a loop with 'break' cannot be unrolled. In round i = 0u."),
    ("for (var i = 0u; i < 4u; i++) { if (x == i) { continue; } } // @unroll", "with 'continue'"),
    ("loop { break; } // @unroll", "8:1: @unroll is for 'for' loops."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), PLACES)
def test_what_cannot_be_is_told_at_its_place(body: str, message: str) -> None:
    with pytest.raises(wk.ShaderError) as error:
        specialized(MODULE.format(body), N=4)
    assert message in str(error.value)


def test_a_constant_that_is_not_there_or_of_another_type_is_refused() -> None:
    module = linked("const TILE = 4u; const SHARE = false; fn f() {}")
    with pytest.raises(wk.ArgumentError, match=r"called 'TILES'; known: TILE, SHARE"):
        specialize(module, {"TILES": 1})
    for name, value in {"TILE": -1, "SHARE": 1}.items():
        with pytest.raises(wk.ArgumentError, match=f"{value} is no value for 'const {name} = "):
            specialize(module, {name: value})
    with pytest.raises(wk.ArgumentError, match="True is no value for 'const TILE = 4u'"):
        specialize(module, {"TILE": True})


def test_every_place_leads_to_the_author_with_round_and_constants() -> None:
    text = """const M = 2u;
fn f(x: u32) -> u32 {
  var y = x;
  for (var m = 0u; m < M; m++) { // @unroll
    for (var n = 0u; n < 2u; n++) { // @unroll
      let own = missing_(m, n);
      y += own;
    }
  }
  return y;
}
fn missing_(m: u32, n: u32) -> u32 { return m + n; }
"""
    written = specialize(linked(text), {"M": 3}).write()
    composed = written.composed
    found: list[tuple[str, str]] = []
    at = composed.text.find("missing_(")
    while at >= 0:
        place = composed.place(at)
        origin = written.find(place.line, place.column)
        found.append((origin.label, written.context(place.line, place.column)))
        at = composed.text.find("missing_(", at + 1)
    rounds = [f" In round m = {m}u, n = {n}u, with M = 3u." for m in range(3) for n in range(2)]
    assert found == [*(("main.wesl:6:17", one) for one in rounds), ("main.wesl:12:4", "")]
