"""The lint and the diagnosis: what is found where, and what must not be found. No device."""

from __future__ import annotations

import pytest

from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

HEAD = """alias T = f32;
const ONE = 1.0;
const NONE = 0.0;
struct Params { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<f32, 64>;
"""
MAIN = """@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{
  tile[lane] = x[lane];
  {body}
  y[lane] = tile[0];
}}
"""


def codes(body: str) -> list[str]:
    return [one.code for one in lint(Text("k.wgsl", HEAD + MAIN.format(body=body)))]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("if (x[lane] != x[lane]) { tile[lane] = 0.0; }", "nan-test"),
        ("tile[lane] = x[lane] * 0.0;", "times-zero"),
        ("tile[lane] = 3.5e38f;", "literal-overflow"),
        ("tile[lane] = 1.0 / 0.0;", "literal-overflow"),
        ("tile[lane] = ONE / (ONE - 1.0);", "literal-overflow"),
        ("tile[lane] = f32(1) % -NONE;", "literal-overflow"),
        ("tile[lane] = x[lane] / NONE;", "zero-quotient"),
        ("tile[lane] = f32(lane / u32(NONE));", "zero-divisor"),
        ("let target = 1.0; tile[lane] = target;", "reserved-word"),
        ("loop { tile[lane] += 1.0; }", "endless-loop"),
        ("var i = 0u; while (i < 3u) { tile[lane] += 1.0; }", "endless-loop"),
        ("for (var i = 0u; i < 70000u; i++) { tile[lane] += 1.0; }", "loop-budget"),
        ("tile[lane] = subgroupAdd(1.0);", "subgroup-width"),
    ],
)
def test_a_hazard_is_found_by_its_code(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        "tile[lane] = x[lane] * 0.5;",
        "let NONE = 2.0; tile[lane] = x[lane] / NONE + x[lane] / ONE;",
        "loop { tile[lane] += 1.0; if (tile[lane] > 3.0) { break; } }",
        "var i = 0u; while (i < 3u) { i += 1u; }",
        "for (var i = 0u; i < 60000u; i++) { tile[lane] += 1.0; }",
        "if (tile[lane] != x[lane]) { tile[lane] = 3.4e38f; }",
    ],
)
def test_what_is_right_is_not_found(body: str) -> None:
    assert codes(body) == []


def test_two_variables_of_one_binding_are_told_of_but_not_of_two_entry_points() -> None:
    text = HEAD + MAIN.format(body="")
    number = text.index("@binding(1)")
    twice = text[:number] + "@binding(0)" + text[number + 11 :]
    (one,) = lint(Text("k.wgsl", twice))
    other = "\n@compute @workgroup_size(1)\nfn other() {}\n"

    assert one.code == "shared-binding"
    assert one.span.begin > number
    assert "is that of 'x', too" in one.words
    assert "shared-binding" not in {one.code for one in lint(Text("k.wgsl", twice + other))}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("let a = 1;", "want a declaration, found 'let'. Outside of functions write const."),
        ("fn f() { let a = 1\nlet b = 2; }", "want ';', found 'let'."),
        ("const a = 1\nlet b = 2;", "want ';', found 'let'."),
        (
            "fn f() { fn g() {} }",
            "want an expression, found 'fn'. A function stands outside of all others.",
        ),
        ("const a = 1\nfn f() {}", "want ';', found 'fn'."),
        ("fn f() { let a =\nfn g() {} }", "want an expression, found 'fn'."),
    ],
)
def test_a_hint_is_of_what_is_missing_not_of_the_next_word(text: str, words: str) -> None:
    found = [one.words for one in diagnose(Text("k.wgsl", text))]

    assert found[0] == words


def test_workgroup_memory_that_nothing_sets_is_found() -> None:
    text = HEAD + MAIN.format(body="").replace("tile[lane] = x[lane];", "")

    (one,) = lint(Text("k.wgsl", text))

    assert one.code == "unset-workgroup-memory"
    assert text[one.span.begin : one.span.end] == "tile"


@pytest.mark.parametrize(
    ("body", "code", "words", "marked"),
    [
        ("let n = 3u; return x * n;", "wrong-type", "write f32(n)", "n"),
        ("let h = f16(1); return x * h;", "wrong-type", "Write T(x)", "x"),
        ("let b = x > 1; return x + b;", "wrong-type", "select(f32(0), f32(1), b)", "b"),
        ("if (x > 1) { return x; }", "missing-return", "Write return behind", "op"),
        ("return x > 1 ? x : 2;", "syntax", "select(otherwise, then, condition)", "?"),
        ("let n = x; n = 2; return n;", "immutable", "n is a let", "n"),
        ("x = 2; return x;", "immutable", "Write var own = x;", "x"),
        ("return float(x);", "unknown-name", "Write f32", "float"),
        ("return lerp(x, x, x);", "unknown-name", "Write mix(a, b, t)", "lerp"),
        ("return attrs.k;", "unknown-name", "Declare struct Attrs", "attrs"),
        ("return p.beta + x;", "unknown-field", "it has alpha.", "beta"),
        ("let y: u32 = x; return x;", "wrong-type", "write u32(x)", "x"),
        ("let a = vec3(x); return a[3];", "does-not-compile", "which has the elements 0 to 2", "3"),
        ("return dpdx(x);", "does-not-compile", "Subtract neighbours", "dpdx"),
        ("return textureSample(x).x;", "does-not-compile", "by index", "textureSample"),
        ("discard; return x;", "does-not-compile", "Write return", "discard"),
        ("return x ** 2;", "wrong-type", "write pow(x, y) for **", "*"),
        ("return *x;", "wrong-type", "this is f32. Leave it out", "*"),
        ("let y = x; let y = x; return y;", "does-not-compile", "Take another name", "y"),
        ("let x = p.alpha; return x;", "does-not-compile", "Take another name", "x"),
        ("const k = x; return k;", "does-not-compile", "Write let", "x"),
        ("switch x { default: { return x; } }", "wrong-type", "Write if", "x"),
        ("let k: f64 = 1.0; return x;", "unknown-name", "Write f32", "f64"),
        ("store[0] = x; return x;", "immutable", "Write to the output", "store"),
        ("return x + atomicLoad(&p.alpha);", "wrong-type", "Declare atomic<i32>", "&"),
        ("return x * f32(arrayLength(store));", "wrong-type", "Write &store", "store"),
        ("return store[x];", "wrong-type", "Convert it to u32", "x"),
        ("let n = 1u; return x + f32(-n);", "wrong-type", "Write -i32(n)", "n"),
        ("var v = vec3(x); v.xy = v.yz; return x;", "wrong-type", "Write .x and .y", "v.xy"),
        ("return x * 2.0F;", "syntax", "Write 'f', or none", "F"),
        ("return (f32) x;", "syntax", "Write f32(value)", "x"),
        ("if (x > 1) { return x; } elif (x > 0) { } return x;", "syntax", "Write else if", "{"),
        ("do { } while (x > 0);", "syntax", "Write loop", "{"),
        ("static const k = 1; return x;", "syntax", "Leave static out", "c"),
        ("return not x;", "syntax", "Write !", "x"),
        ('return f32("a");', "syntax", "WGSL has no strings", '"'),
        ("let filter = x; return filter;", "reserved-word", "Write filter_", "filter"),
    ],
)
def test_a_usual_error_says_what_to_write_and_marks_the_operand(
    body: str, code: str, words: str, marked: str
) -> None:
    head = (
        "alias T = f32;\nstruct P { alpha: f32 }\nvar<private> p: P;\n"
        "@group(0) @binding(0) var<storage, read> store: array<f32>;\n"
    )
    text = f"{head}fn op(x: T) -> T {{ {body} }}\n"

    first = diagnose(Text("k.wgsl", text))[0]

    assert first.code == code
    assert words in first.words
    assert text[first.span.begin : first.span.end] == marked


@pytest.mark.parametrize("space", ["workgroup", "storage", "uniform"])
def test_a_pointer_that_no_function_takes_says_what_to_pass(space: str) -> None:
    text = f"fn first(p: ptr<{space}, array<f32, 4>>) -> f32 {{ return (*p)[0]; }}\n"

    (found,) = diagnose(Text("k.wgsl", text))

    assert "Name the variable in the function, and pass an index." in found.words
    assert text[found.span.begin : found.span.end] == "p"
    assert diagnose(Text("k.wgsl", text.replace(space, "function"))) == []


def test_a_value_that_is_not_built_in_is_told_with_the_nearest() -> None:
    text = "@compute @workgroup_size(1)\nfn main(@builtin(global_id) id: vec3<u32>) { }\n"

    (found,) = diagnose(Text("k.wgsl", text))

    assert "'global_id'. Did you mean 'global_invocation_id'?" in found.words
    assert text[found.span.begin : found.span.end] == "global_id"


def test_all_errors_are_found_and_not_the_first_alone() -> None:
    first = "fn a(x: f32) -> f32 { return x * 1u; }\n"
    text = f"{first}fn b(x: f32) -> f32 {{ return nowhere(x); }}\nfn c() -> f32 {{ }}\n"

    found = [one.code for one in diagnose(Text("k.wgsl", text))]

    assert found == ["wrong-type", "unknown-name", "missing-return"]


def test_one_file_of_a_shader_is_typed_as_far_as_its_names_are_known() -> None:
    """A member is there whose type another file declares; what is imported has its types."""
    text = (
        "struct P { a: Other, b: f32 }\nfn f(p: P) -> f32 { return half(p.a * unknown) + p.c; }\n"
    )
    others = parse(Text("h.wgsl", "fn half(x: f32) -> f32 { return x; }")).declarations

    found = diagnose(Text("k.wgsl", text), {"Other", "unknown", "half"}, others)

    assert [(one.code, one.words) for one in found] == [
        ("unknown-field", "P has no 'c'; it has a, b."),
    ]
    text = text.replace("p.a * unknown", "2u")
    wrong = diagnose(Text("k.wgsl", text), {"Other", "half"}, others)
    assert [one.code for one in wrong] == ["wrong-type", "unknown-field"]
