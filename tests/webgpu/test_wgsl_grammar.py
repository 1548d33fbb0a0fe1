"""The parser and the printer: every form of the grammar, there and back; damaged text."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.modes import ALL_MODES

from wgsl_kernels.backends.webgpu.modules.files import read_text, shaders_folder
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse, parse_expression
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import print_module, spell
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from pathlib import Path

few = settings(
    derandomize=True,
    max_examples=200 if ALL_MODES else 50,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SHADERS = sorted(shaders_folder().rglob("*.w[eg]sl"))

MODULE_LEVEL = """
enable f16, subgroups; requires readonly_and_readwrite_storage_textures,; diagnostic(off, a.b,);
#include "other.wgsl"
alias Mat = mat2x2<f32>; alias Deep = array<array<vec2<f32>,2>,(4>>1)>;
const A = 1; const B: u32 = A<<2u; @id(7,) override scale: f32 = 2.0; override sized: u32;
@must_use fn f(@location(0) a: ptr<function, vec4<f32>,>,) -> @builtin(position,) vec4f {
  return *a;
};
const_assert A < B; const_assert (A > 0);
struct S { @align(16) @size(32,) a: array<u32, B>, b: atomic<i32> }
@group(0) @binding(1 + 2) var<storage, read_write,> buffer : array<S>;
var<workgroup> tile: array<f32, 64>; var<private> seed = 1u; var texture: texture_2d<f32>;
@compute @workgroup_size(8, B, 1,) fn main() {}
"""
BODIES = (
    "let x = a < b;",
    "let x = a<b>(c);",
    "let x = f(a < b, c < d);",
    "let x = f((a < b), c > (d));",
    "let x = a < b && c > d || e >= f;",
    "let x = array<vec2<f32>,2>(p,q)[i].x;",
    "let p: ptr<function,vec2<f32>>=&x; let q = vec2<vec2<f32>>==y;",
    "var x: vec2<f32>= y; var z: array<vec2<f32>,4>=w;",
    "a >>= 1u; b <<= 2u; c = d >> e << 1u; b = vec2<u32>(c)>>vec2<u32>(d);",
    "let x = a[i]<b; let y = f(x)>g(y);",
    "if i < n { a = b[i >> 1u]; } else if (i>=n) { discard; } else { return; }",
    "for (var i = 0; i < 4 && i > -1; i++) { continue; }",
    "for (;;) { break; }",
    "for (i = 0; ; f(i,)) { }",
    "while a<b { a += 1; }",
    "loop { if a { break; } continuing { a--; break if a < b; } }",
    "switch a { case 1, 2,: { b = 1; } case default, 3 { } }",
    "switch (a) { case 1u { } default: { c = 2; } }",
    "@diagnostic(off, derivative_uniformity) if a { } @x { var y = 1; }",
    "@a loop @b { continuing @c { } }",
    "@a switch b @c { default @d { } }",
    "_ = x; _ = f(a) + 1;",
    "*p = 1; (*p).x += 2; p.y[3] -= *(&q); let r = &(*p).z;",
    "let x = - -a + !(!b) - ~ ~c; let y = a - -b; let z = a & b; let w = &a;",
    "let x = 0x1.8p3f + 0XAp-2 + .5 + 1.e3f + 1e-3h + 0xFFu + 1f + 0x.8p0 + 3i;",
    "let x = a + b * c - d / e % f; let y = (a | b) ^ c; let z = a << 1u == b;",
    "let x = a == b != c;",
    "/* out /* in */ still */ let x = 1; // end\n",
    "const c = 1; const_assert c == 1; let t: bool = true; var v: f32; var<function> u = 1;",
    "{ { ; } ; } f(); g(a,);",
    "let é = Δ.x; let पर्यावरण = a\u2028+\u0085b; workgroupBarrier();",
    "return a < b;",
)


def module(text: str) -> tree.Module:
    return parse(Text("a.wgsl", text))


def walk(node: tree.Node) -> list[tree.Node]:
    """Return ``node`` and all nodes in it."""
    found: list[tree.Node] = []
    pending: list[object] = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):
            pending += one
        elif isinstance(one, tree.Node):
            found.append(one)
            pending += [getattr(one, field.name) for field in fields(one)]
    return found


def in_function(body: str) -> str:
    return f"fn f() -> T {{ {body} }}"


@pytest.mark.parametrize("path", SHADERS, ids=lambda p: str(p.relative_to(shaders_folder())))
def test_a_shader_is_the_same_when_printed_and_read_again(path: Path) -> None:
    read = parse_source(read_text(path)).module
    printed = print_module(read).composed.text

    assert read.is_whole
    assert not read.problems
    assert parse(Text("printed", printed)) == read
    assert print_module(parse(Text("printed", printed))).composed.text == printed


@pytest.mark.parametrize("text", [MODULE_LEVEL, *(in_function(body) for body in BODIES)])
def test_every_form_of_the_grammar_is_the_same_when_printed_and_read_again(text: str) -> None:
    read = module(text)
    printed = print_module(read).composed.text

    assert read.is_whole, [problem.describe(read.text) for problem in read.problems]
    assert module(printed) == read
    assert module(printed.replace("\n", " ")) == read


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a < b > (c)", (tree.Call,)),
        ("a < b >= (c)", (tree.Binary, "error")),
        ("a < (b > c)", (tree.Binary,)),
        ("a < b", (tree.Binary,)),
        ("f(a < b, c > d)", (None, "error")),  # a<b, c>, and then d
        ("f((a < b), c > d)", (tree.Call,)),
        ("a[b < c] > d", (tree.Binary,)),
        ("a < b || c > d", (tree.Binary,)),
        ("a << b >> c", (tree.Binary, "problem")),
    ],
)
def test_a_less_than_is_a_template_or_a_comparison_as_the_specification_says(
    text: str, kinds: tuple[object, ...]
) -> None:
    found = parse_expression(text)
    if "error" in kinds:
        assert found is None
    else:
        assert type(found) is kinds[0]
    problems = module(f"const a = {text};").problems
    assert bool(problems) == (len(kinds) > 1)


def test_the_two_readings_of_a_list_of_arguments_are_the_specifications() -> None:
    call = parse_expression("f((a < b), c > (d))")
    assert isinstance(call, tree.Call)
    assert len(call.arguments) == 2
    one = parse_expression("f(a < b, c > (d))")
    assert isinstance(one, tree.Call)
    assert [type(argument) for argument in one.arguments] == [tree.Call]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a + b * c", "a+(b*c)"), ("a - b - c", "(a-b)-c"), ("a * b % c", "(a*b)%c"),
        ("-a * b", "(-a)*b"), ("!a && b", "(!a)&&b"), ("a && b && c", "(a&&b)&&c"),
        ("a == b && c < d", "(a==b)&&(c<d)"), ("a + b < c * d", "(a+b)<(c*d)"),
        ("*p.x", "*(p.x)"), ("&a[1]", "&(a[1])"), ("a | b | c", "(a|b)|c"),
        ("a < b == c", "a<b==c"), ("a << 1u < b", "(a<<1u)<b"),
    ],
)  # fmt: skip
def test_operators_bind_as_the_specification_says(text: str, shape: str) -> None:
    plain, explicit = parse_expression(text), parse_expression(shape)
    assert plain is not None
    assert explicit is not None
    assert _without_parens(plain) == _without_parens(explicit)


def _without_parens(node: object) -> object:
    if isinstance(node, tree.Paren):
        return _without_parens(node.inner)
    if isinstance(node, tree.Unary):
        return (node.operator, _without_parens(node.operand))
    if isinstance(node, tree.Binary):
        return (node.operator, _without_parens(node.left), _without_parens(node.right))
    return node


@pytest.mark.parametrize(
    "text",
    ["a & b | c", "a & b + c", "a || b && c", "a << b + c", "a == b == c", "a | b == c"],
)
def test_operators_that_want_parentheses_between_them_are_named(text: str) -> None:
    found = module(f"const x = {text};")
    assert found.is_whole
    assert "wants parentheses" in found.problems[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn f() {\n  let y = x\n  return;\n}", "a.wgsl:3:3: want ';', found 'return'.\n"
         "      return;\n      ^"),
        ("fn f() { let = 1; }", "1:14: want the name of what let declares, found '='."),
        ("fn f() { a + b; }", "1:12: want an assignment, found '+'."),
        ("fn f() { x = ; }", "1:14: want an expression, found ';'."),
        ("fn f() { x = g(1 2); }", "1:18: want ',' or ')', found '2'."),
        ("fn f(a) {}", "1:7: want ':', found ')'."),
        ("struct S { a: u32 b: u32 }", "1:19: want ',' or '}', found 'b'."),
        ("var<storage x: f32;", "1:4: want the name of a variable, found '<'."),
        ("fn f() -> { }", "1:11: want a type, found '{'."),
        ("let x = 1;", "1:1: want a declaration, found 'let'."),
        ("const A = 1", "1:12: want ';', found the end."),
        ("fn f() { switch a { b {} } }", "1:21: want 'case', 'default' or '}', found 'b'."),
        ("fn f() { @x let a = 1; }", "want a block, 'if', 'switch' or a loop behind attributes"),
    ],
)  # fmt: skip
def test_a_syntax_error_says_where_and_what_was_wanted(text: str, message: str) -> None:
    found = module(text)
    assert not found.is_whole
    described = found.problems[0].describe(found.text)
    assert message in described


def test_what_stands_behind_a_broken_declaration_is_read() -> None:
    found = module("fn f() {\n a b }\nfn g() { }\nconst A = ;\nfn h() {}")
    functions = [d.ident.name for d in found.declarations if isinstance(d, tree.Function)]
    assert functions == ["f", "g", "h"]
    assert [type(d) for d in found.declarations][2] is tree.Broken
    assert len(found.problems) == 2


def test_every_node_covers_its_text() -> None:
    for text in (MODULE_LEVEL, *(in_function(body) for body in BODIES)):
        for declaration in module(text).declarations:
            for node in walk(declaration):
                assert 0 <= node.begin <= node.end <= len(text)
                if isinstance(node, tree.Ident):
                    assert text[node.begin : node.end] == node.name
                if isinstance(node, tree.Literal):
                    assert text[node.begin : node.end] == node.text


def test_printed_text_leads_back_to_the_authors_places() -> None:
    text = "fn f ( x:f32 ) ->f32 {\n  // twice\n\n  let y=x*\n 2.0; return   y;}\n"
    printed = print_module(module(text))
    composed = printed.composed
    assert composed.text == ("fn f(x: f32) -> f32 {\n  let y = x * 2.0;\n  return y;\n}\n")
    for word, line, column in (("2.0", 5, 2), ("return", 5, 7), ("y;\n}", 5, 16), ("f32)", 1, 10)):
        at = composed.place(composed.text.index(word))
        source, place = printed.origin(at.line, at.column)
        assert source.file == "a.wgsl"
        assert (place.line, place.column) == (line, column), word


def test_no_place_of_printed_text_is_without_an_author() -> None:
    for path in SHADERS[::10]:
        printed = print_module(parse(Text(path.name, path.read_text())))
        for number, line in enumerate(printed.composed.text.splitlines(), 1):
            for column in range(1, len(line) + 1, 7):
                assert printed.origin(number, column)[1].file != COMPOSED


KERNELS = [path.read_text() for path in SHADERS[::12]] + [
    MODULE_LEVEL,
    in_function(" ".join(BODIES)),
]
INSERTED = [
    *"(){}[]<>;:,.=@&|*-+#\"'0aé\x00",
    "<<",
    ">>=",
    "fn ",
    "let ",
    "/*",
    "*/",
    "0x",
    "1e",
    "#include ",
]


def read_or_refused(text: str) -> tree.Module | None:
    """Return the module, or None after a refusal that names a place."""
    found: list[tree.Module] = []
    refusal = ""
    try:
        found.append(module(text))
    except ShaderError as error:
        refusal = str(error)
    assert found or refusal.startswith("a.wgsl:")
    return found[0] if found else None


@pytest.mark.parametrize("seed", range(300))
def test_damaged_text_never_crashes_and_every_refusal_has_a_place(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choice(KERNELS)
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(text))
        end = begin + rng.choice((0, 0, 1, 2, rng.randrange(60)))
        text = text[:begin] + rng.choice(("", rng.choice(INSERTED))) + text[end:]
    if (found := read_or_refused(text)) is None:
        return
    names = resolve(found.text)
    for problem in (*found.problems, *names.problems()):
        assert 0 <= problem.begin <= len(text)
        assert problem.describe(found.text).startswith("a.wgsl:")
    assert found.is_whole or found.problems
    printed = print_module(found).composed.text
    if found.is_whole:
        assert module(printed) == found


@few
@given(st.text(alphabet='ab1.<>=!&|+-*/()[]{};:,@_#" \n', max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    found = read_or_refused(text)
    if found is not None:
        assert found.is_whole or found.problems
        if found.is_whole:
            assert module(print_module(found).composed.text) == found


OPERATORS = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&&",
    "||",
]  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw an expression, with or without blanks and the parentheses that it wants."""
    forms = ["a", "1u", "2.5f", "true", "0x1p3"]
    if depth:
        forms += ["({0})", "- {0}", "!{0}", "~ {0}", "*{0}", "& {0}", "f({0},)", "a[{0}]"]
        forms += ["({0}).xy", "vec2<{0}>({1})"]
        forms += [f"{{0}}{blank}{mark}{blank}{{1}}" for mark in OPERATORS for blank in ("", " ")]
    inner = [draw(expressions(depth - 1)) if depth else "" for _ in range(2)]
    return draw(st.sampled_from(forms)).format(*inner)


@few
@given(expressions())
def test_an_expression_is_the_same_however_it_is_printed(text: str) -> None:
    source = Text("a.wgsl", f"const x = {text};")
    if read_or_refused(source.text) is None:
        return
    found = parse_expression(text)
    if found is not None:
        assert parse_expression(spell(found)) == found
        assert module(print_module(parse(source)).composed.text) == parse(source)


def test_an_equal_text_is_not_read_again() -> None:
    text = (shaders_folder() / "lowering" / "padded.wgsl").read_text()
    assert parse(Text("0.wgsl", text)) is parse(Text("0.wgsl", text))
