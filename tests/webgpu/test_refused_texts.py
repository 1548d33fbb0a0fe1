"""What compilers refuse is told in words, at its place, with what to write: kind by kind."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.webgpu.lab import inline, lab, operand

from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

X = np.zeros(4, np.float32)
RETURNS = "fn op(x: f32) -> f32 { %s return x; }"
MAIN = "@compute @workgroup_size(2) fn main(%s) { store_y(0u, 1.0); }"
CASES = [
    # values without parts, shifts, constants
    ("return x[0];", "x", "x is f32, which has no elements. Leave [0] out"),
    ("let n = 1u << 33u;", "33u", "Shift by 0 to 31"),
    ("let n = u32(x) >> 32u;", "32u", "Shift by 0 to 31"),
    ("let n = vec2(1u) << vec2(2u); let m = n.x[1];", "n.x", "n.x is u32, which has no elements"),
    ("const_assert 1 > 2;", "1 > 2", "this does not hold: 1 > 2"),
    ("let n = 1u / 0u;", "1u / 0u", "Write another divisor"),
    # calls and names
    (
        "sin(x);",
        "sin",
        "nothing reads what sin returns. Use it, leave it out, or write _ =",
    ),
    ("x(1.0);", "x", "x is a parameter, and no function"),
    ("let v = workgroupBarrier();", "workgroupBarrier()", "Call it as a statement of its own"),
    ("let v = x + sin;", "sin", "sin is a function, and no value. Call it"),
    ("let v = f32;", "f32;", "f32 is a type, and no value"),
    ("let a = x; let p = &a;", "a;", "& takes a var, and a is a let. Declare it with var"),
    ("var v = vec2(x); let p = &v.x;", "v.x", "Write &v, to the vector"),
    ("var a: array<f32, 3>; _ = arrayLength(&a);", "&a", "and this is array<f32, 3>"),
    # jumps
    ("if (x > 1.0) { break; }", "break", "none is around it. Write return"),
    ("continue;", "continue", "no loop is around it"),
    ("switch (i32(x)) { case 1 { continue; } default { } }", "continue", "no loop is around it"),
    ("loop { continuing { break; } }", "break", "ends by break if condition;"),
    ("loop { if (x > 1.0) { break; } continuing { return x; } }", "return x", "does not return"),
    ("loop { break if x > 1.0; }", "break", "Write if (condition) { break; }"),
    ("loop { continuing { } break; }", "continuing", "comes last in a loop's body"),
    ("return;", "return", "op returns f32. Write a value behind return"),
    # switches
    ("switch (i32(x)) { case 1 { } }", "switch", "Add default { } as the last"),
    (
        "switch (i32(x)) { case 1 { } case 2, 1 { } default { } }",
        "1 { } def",
        "has a case 1 before",
    ),
    ("switch (i32(x)) { default { } default { } }", "default { } }", "has a default before"),
    ("switch (i32(x)) { case 1u { } default { } }", "1u", "takes i32, and this case is u32"),
    ("let k = 1; switch (i32(x)) { case k { } default { } }", "k {", "and k is none. Write if"),
    # operators of bits, conditions
    ("let y = x ^ 2.0;", "x ^", "f32 ^ f32 has no meaning. ^ is for bits of integers: for a power"),
    ("let y = x ^ 2.0;", "x ^", "write pow(x, 2.0)."),
    ("let y = i32(x) ^ 2.0;", "2.0", "write pow(f32(i32(x)), 2.0)."),
    ("let y = x & 1.0;", "x &", "write f32(u32(x) & u32(1.0)), or bitcast<u32>(value)"),
    ("let y = vec2(x) ^ 2.0;", "vec2", "write pow(vec2(x), vec2<f32>(2.0))."),
    ("let y = vec2(x) | vec2(1u);", "vec2", "write vec2<f32>(vec2<u32>(vec2(x)) | vec2<u32>("),
    ("let y = x << 1u;", "x <", "write ldexp(x, i32(1u)) for a product with a power of 2"),
    ("var y = x; y >>= 1u;", "1u", "write ldexp(y, -i32(1u))"),
    ("if (vec2(x) < vec2(1.0)) { }", "vec2(x)", "Write all(vec2(x) < vec2(1.0)) or any("),
    ("let y = x && x > 1.0;", "x &", "f32 && bool has no meaning. Compare it: x != 0."),
    ("if (!x) { }", "x)", "! takes no f32. Compare it: x == 0."),
    ("if (1) { }", "1)", "a condition is a bool, and this is i32. Compare it: 1 != 0."),
    (
        "let y = u32(x) * 0.5;",
        "u32(x)",
        "u32 * f32 has no meaning. WGSL converts nothing",
    ),
    ("let y = vec2(1, 2) + vec3(1.0);", "vec3", "The vectors have 2 and 3 components"),
    ("let y: u32 = 1.5;", "1.5", "want u32, found a float without suffix"),
    ("let y = ~1.0;", "1.0", "~ takes no float literal"),
    ("let y = array(x, x) == array(x, x);", "array", "Take an element, by its index"),
    # variables
    ("let n = 3u; var a: array<f32, n>;", "n>", "and n is a let. Declare it with const"),
    ("var a: array<f32, 0>;", "0>", "an integer, 1 or more, and this is 0"),
    ("var a: array<f32>;", "a:", "which storage buffers alone have. Write array<type, size>"),
    ("var a;", "a;", "a has neither type nor value"),
    ("var<workgroup> a: f32;", "a:", "Move it there, or write var"),
    ("var a = x; a++;", "a+", "++ takes one integer, and this is f32. Write += 1"),
]
DECLARED = [
    ("var a: f32;", "a:", "Write var<private> a"),
    ("var<workgroup> a: f32 = 1.0;", "a:", "which takes no value here"),
    ("var<workgroup> a: atomic<f32>;", "f32>", "Write atomic<u32>, and bitcast the value"),
    ("var<private> a: array<f32>;", "a:", "an array without size"),
    ("struct S { a: f32, a: f32 }", "a: f32 }", "Take another name"),
    ("fn f(a: f32, a: f32) { }", "a: f32) ", "Take another name"),
    ("@must_use fn f() -> u32 { return 1u; } fn g() { f(); }", "f();", "nothing reads what f"),
    (MAIN % "id: vec3<u32>", "id", "Write @builtin(global_invocation_id) id: vec3<u32>"),
    (MAIN % "@builtin(workgroup_id) id: u32", "u32)", "Write id: vec3<u32>"),
]


def first_words(text: str) -> tuple[str, str]:
    """Return what is said first of a text, and the text from there on."""
    first = diagnose(Text("k.wgsl", text), {"store_y"})[0]
    return first.words, text[first.span.begin :]


@pytest.mark.parametrize(("body", "marked", "words"), CASES)
def test_a_statement_that_is_refused_is_told_with_what_to_write(
    body: str, marked: str, words: str
) -> None:
    said, there = first_words(RETURNS % body)

    assert words in said
    assert there.startswith(marked)


@pytest.mark.parametrize(("declared", "marked", "words"), DECLARED)
def test_a_declaration_that_is_refused_is_told_with_what_to_write(
    declared: str, marked: str, words: str
) -> None:
    said, there = first_words(declared)

    assert words in said
    assert there.startswith(marked)


@pytest.mark.parametrize(
    "body",
    [
        "_ = sin(x);",
        "for (var i = 0; i < 3; i++) { if (x > 1.0) { continue; } switch i { case 1 { continue; } "
        "case 2 { break; } default { } } }",
        "loop { if (x > 1.0) { return x; } continuing { switch 1 { default { break; } } break if "
        "x > 2.0; } }",
        "const n = 3u; var a: array<f32, n>; let p = &a[1]; let q = &(*p); _ = *q;",
        "switch (u32(x)) { case 1, 2 { } case 0x3, default { } }",
        "let n = 1u << 31u; let m = vec2(1u) << vec2(31u); let s = 1 << 40;",
        "const_assert 1 < 2; var v = vec2(x); v[0] = 1.0; var k = 1; k++;",
    ],
)
def test_what_compilers_take_is_not_refused(body: str) -> None:
    assert diagnose(Text("k.wgsl", RETURNS % body)) == []


def test_what_is_imported_by_a_name_of_wgsl_s_is_what_it_is_there() -> None:
    others = parse(Text("h.wgsl", "const step = 2.0; fn sin(x: f32) -> f32 { return x; }"))
    text = RETURNS % "sin(x); let y = x + step;"

    assert diagnose(Text("k.wgsl", text), {"step", "sin"}, others.declarations) == []


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("body", "words", "column"),
    [
        ("return normalize(x);", "wrong type passed as argument #1 to `normalize`", None),
        ("return x + log(0.0);", "log built-in function argument is out of valid range", 35),
        ("return x + f32(bitcast<bool>(x));", "Unable to cast", 39),
        ("let a = vec2<f32, f32>(x); return x;", "unused expressions for template", 42),
    ],
)
def test_what_our_reader_does_not_know_is_told_in_the_compiler_s_words(
    body: str, words: str, column: int | None
) -> None:
    source = inline(f"fn op(x: f32) -> f32 {{ {body} }}\n")
    composed = compose("Probe", source, [operand("x", X)], [operand("y", X)])

    with pytest.raises(ShaderError) as caught:
        lab().compile(composed)

    first = str(caught.value).split("\n")[0]
    assert f"the shader does not compile: {words}." in first
    assert column is None or re.search(rf":1:{column}: ", first)
