"""The reader: tokens, declarations, and the errors that it finds itself."""

from __future__ import annotations

import pytest

from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.names import wgsl_name
from wgsl_kernels.wgsl.syntax.parser import parse, parse_expression
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.tokens import tokenize
from wgsl_kernels.wgsl.types.constants import ConstantValues, NotConstantError
from wgsl_kernels.wgsl.types.layouts import TypeLayouts, UnknownTypeError
from wgsl_kernels.wgsl.types.named import NamedTypes

KERNEL = """\
enable f16, subgroups;
diagnostic(off, derivative_uniformity);
#include "include/safe_math.wgsl"

/* outer /* inner */ still a comment */
const TILE = 16u; // x[0]
@id(3) override K: f32 = 2.5;
alias Row = array<vec4<f32>, TILE * (2 + 1)>;
struct Params { @align(16) x_shape: vec2<u32>, rows: array<vec4<u32>, 2>, }
@group(0) @binding(7u) var<storage, read_write> y: array<atomic<u32>>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> tile: array<array<f32, TILE << 1>, TILE>;
const_assert TILE > 2;
fn area(p: ptr<function, vec2<f32>>, @builtin(x) n: u32,) -> @location(0) vec2f { return *p; }
@compute @workgroup_size(TILE, TILE / 2)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { tile[id.x][0].x = 1.0; }
"""


def module(text: str) -> tree.Module:
    return parse(Text("a.wgsl", text))


def spelled(node: tree.Expression | None) -> str:
    assert node is not None
    return spell(node)


def expression(text: str) -> tree.Expression:
    found = parse_expression(text)
    assert found is not None
    return found


def value_of(text: str, constants: str = "") -> float:
    return ConstantValues(module(constants).constants).number(expression(text))


def test_declarations_are_found_with_their_parts() -> None:
    found = module(KERNEL)
    assert [(d.keyword, d.words) for d in found.directives] == [
        ("enable", ("f16", "subgroups")),
        ("diagnostic", ("off", "derivative_uniformity")),
    ]
    assert [i.path for i in found.includes] == ["include/safe_math.wgsl"]
    assert found.constants["K"].keyword == "override"
    assert (found.constants["K"].type, found.constants["K"].value) == (
        expression("f32"),
        expression("2.5"),
    )
    assert found.aliases["Row"].type == expression("array<vec4<f32>, TILE*(2+1)>")
    assert [(f.name, spelled(f.type)) for f in found.structs["Params"].fields] == [
        ("x_shape", "vec2<u32>"),
        ("rows", "array<vec4<u32>, 2>"),
    ]
    y = found.variables["y"]
    assert (y.space, y.access, spelled(y.type)) == ("storage", "read_write", "array<atomic<u32>>")
    assert found.variables["params"].access == "read"
    area = found.functions["area"]
    assert [(p.name, spelled(p.type)) for p in area.parameters] == [
        ("p", "ptr<function, vec2<f32>>"),
        ("n", "u32"),
    ]
    assert spelled(area.returns) == "vec2f"
    assert found.functions["main"].workgroup_size == (expression("TILE"), expression("TILE / 2"))
    assert found.functions["main"].is_entry
    assert found.is_whole


def test_names_after_a_dot_or_in_comments_are_not_used() -> None:
    found = resolve(Text("a.wgsl", KERNEL))
    assert found.indexed == {"tile"}
    used = {one.ident.name for one in found.uses}
    assert "x" not in used
    assert {"tile", "id"} <= used


def test_spans_cover_what_they_name() -> None:
    found = module(KERNEL)
    for declaration in found.declarations:
        if not isinstance(declaration, (tree.ConstAssert, tree.Broken)):
            span = declaration.name_span
            assert KERNEL[span.begin : span.end] == declaration.name
            text = KERNEL[declaration.span.begin : declaration.span.end]
            assert text[-1] in ";}"


def test_number_literals_are_one_token_each() -> None:
    text = "1 1u 0x1F 0x1.8p3 .5 1. 1.5e-3f 2h 7i 0xA.Bp-2f"
    assert [t.text for t in tokenize(Text("", text))] == text.split()


def test_a_declaration_that_breaks_off_is_left_to_the_compiler() -> None:
    found = module("const A = 3\nfn ok() {}\nfn () {}\nstruct S { a }\nvar<private> x: f32;\n")
    assert not found.is_whole
    assert "ok" in found.functions
    assert "x" in found.variables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn f() {}\n  /* no end /* */", "a.wgsl:2:3: this comment is never closed"),
        ("fn f() {\n\tif (x) {\n}\n", "a.wgsl:1:8: this { is never closed; want }.\n"
         "    fn f() {\n           ^"),
        ("fn f() {}\n\t}", "a.wgsl:2:2: this } closes nothing.\n    \t}\n    \t^"),
        ("fn f(a: i32 {\n}", "a.wgsl:1:13: want ',' or ')', found '{'. The ( of line 1,"),
        ("fn f() { g(1; }\n", "a.wgsl:1:13: want ',' or ')', found ';'. The ( of line 1,"),
        ("#include <x>\n", "a.wgsl:1:1: want #include \"path\""),
    ],
)  # fmt: skip
def test_errors_of_the_reader_point_at_the_place(text: str, message: str) -> None:
    with pytest.raises(ShaderError) as caught:
        parse(Text("a.wgsl", text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TILE * 2 + 1", 33), ("(TILE + 1u) / 3", 5), ("7 % 4", 3), ("-7 / 2", -3), ("-7 % 4", -3),
        ("1u << 4u | 1", 17), ("255 >> 4 & 7", 7), ("6 ^ 3", 5), ("max(2, TILE)", 16),
        ("u32(2.9)", 2), ("min(1, min(2, 3))", 1), ("0x10", 16), ("K * 2", 5.0), ("1.5f + .5", 2.0),
        ("f32(3) / 2", 1.5), ("5.5 % 2.0", 1.5),
    ],
)  # fmt: skip
def test_constant_expressions_have_their_value(text: str, value: float) -> None:
    assert value_of(text, KERNEL) == value


@pytest.mark.parametrize("text", ["x + 1", "1 / 0", "sin(1)", "1.5 | 1", "true", "1u + 1i"])
def test_what_is_no_constant_is_refused(text: str) -> None:
    with pytest.raises(NotConstantError):
        value_of(text)


def test_a_constant_that_names_itself_ends() -> None:
    with pytest.raises(NotConstantError):
        value_of("A", "const A = B;\nconst B = A;")


def test_layouts_follow_the_tables_of_wgsl() -> None:
    found = module(
        KERNEL + "struct In { a: f32, b: vec3<f32>, c: f32, @size(32) d: u32, e: mat3x2<f32> }\n"
    )
    types = TypeLayouts(NamedTypes(found.declarations, {"T": "f16"}, {}))
    sizes = {
        "f32": (4, 4), "vec2<f32>": (8, 8), "vec3f": (12, 16), "vec4<T>": (8, 8),
        "array<vec3<f32>, 2>": (32, 16), "atomic<u32>": (4, 4), "mat4x3<f32>": (64, 16),
        "Row": (48 * 16, 16), "Params": (48, 16), "In": (96, 16), "array<T, 3>": (6, 2),
    }  # fmt: skip
    for name, (size, align) in sizes.items():
        layout = types.written(name)
        assert (layout.size, layout.align) == (size, align), name
    assert types.members(found.structs["In"].fields)[0] == (0, 16, 28, 32, 64)
    with pytest.raises(UnknownTypeError):
        types.written("array<f32>")


def test_reserved_words_take_an_underscore() -> None:
    assert [wgsl_name(n) for n in ("filter", "target", "x", "out")] == [
        "filter_",
        "target_",
        "x",
        "out",
    ]
