"""Name resolution, what it says of names that mean nothing, and renaming."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.modes import ALL_MODES

from wgsl_kernels.backends.webgpu.modules.files import read_text, shaders_folder
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.joining import renamed
from wgsl_kernels.wgsl.linking.rename import fresh, rename
from wgsl_kernels.wgsl.names.resolve import Names, names_of, resolve
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import print_declaration, print_module
from wgsl_kernels.wgsl.syntax.source_map import TextBuilder

few = settings(
    derandomize=True,
    max_examples=200 if ALL_MODES else 50,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SHADOWS = """\
const x = 1;
fn f(x: i32) -> i32 {
  let y = x;
  if y > 0 {
    let x = x + 1;
    g(x);
  }
  for (var x = x; x < y; x++) { let x = x; g(x); }
  return x;
}
fn g(y: i32) -> i32 { return x + y; }
var<private> z: array<i32, x>;
"""


def names(text: str) -> Names:
    return resolve(Text("a.wgsl", text))


def meanings(text: str, name: str) -> list[tuple[int, int]]:
    """Return, for each use of ``name``, the lines where it stands and where it is declared."""
    found = names(text)
    place = found.module.text.place
    return [
        (place(use.ident.begin).line, place(use.symbol.ident.begin).line if use.symbol else 0)
        for use in found.uses
        if use.ident.name == name
    ]


def test_a_use_means_the_innermost_declaration_before_it() -> None:
    assert meanings(SHADOWS, "x") == [
        (3, 2), (5, 2), (6, 5), (8, 2), (8, 8), (8, 8), (8, 8), (8, 8), (9, 2), (11, 1), (12, 1),
    ]  # fmt: skip
    found = names(SHADOWS)
    inner = next(
        s for s in found.symbols if s.name == "x" and s.ident.begin > SHADOWS.index("{ let x")
    )
    assert [one.ident.begin for one in found.uses if one.symbol is inner] == [
        SHADOWS.index("g(x); }") + 2
    ]


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("fn f() {\n let a = a;\n let b = a;\n}", "a", [(2, 0), (3, 2)]),
        ("fn f() {\n {\n let a = 1;\n }\n g(a);\n}", "a", [(5, 0)]),
        ("fn f() { loop {\n let a = 1;\n continuing {\n break if a;\n }\n }\n}", "a", [(4, 2)]),
        ("fn f() { switch s {\n case a: {\n let a = 1;\n b = a;\n }\n default {\n b = a;\n } } }",
         "a", [(2, 0), (4, 3), (7, 0)]),
        ("fn f() { g(); }\nfn g() { f(); }", "f", [(2, 1)]),
        ("alias A = B;\nstruct B { a: A }", "B", [(1, 2)]),
        ("fn f(f: i32) -> i32 {\n return f; }", "f", [(2, 1)]),
        ("fn f(a: T) {\n b.a = a.a; }", "a", [(2, 1)]),
        ("fn f(@builtin(a) a: u32) {\n a; }".replace("a; }", "g(a); }"), "a", [(2, 1)]),
        ("@workgroup_size(a) fn f() {}\nconst a = 1;", "a", [(1, 2)]),
    ],
)  # fmt: skip
def test_scopes_end_where_the_specification_says(
    text: str, name: str, want: list[tuple[int, int]]
) -> None:
    assert meanings(text, name) == want


def test_what_a_declaration_needs_leaves_out_its_own_names() -> None:
    found = names(
        "fn f(a: T, @builtin(subgroup_size) n: u32) -> T { let b = a; return h(b).x + K; }"
    )
    assert found.needs == {"T", "u32", "h", "K", "subgroup_size"}


def test_members_are_listed_by_the_name_before_the_dot() -> None:
    found = names("fn f() { a.b = c.d.e + a.g[c.d] + a.b + h().i; k[0].l = 1; }")
    assert found.members == {"a": ("b", "g"), "c": ("d",)}
    assert found.indexed == {"k"}


def test_a_body_that_is_not_understood_needs_all_of_its_names() -> None:
    found = names("fn f(a: T) { let b = a c.d; }")
    assert found.needs == {"T", "a", "b", "c"}


@pytest.mark.parametrize(
    ("text", "known", "message"),
    [
        ("fn f(weight2: f32) -> f32 {\n\treturn weight3;\n}", (),
         "a.wgsl:2:9: nothing is called 'weight3' here. Did you mean 'weight2'?\n"
         "    \treturn weight3;\n    \t       ^"),
        ("fn f() -> f32 { return clmap(1.0, 2.0, 3.0); }", (), "Did you mean 'clamp'?"),
        ("fn f() -> f32 { return load_X(0u); }", ("load_x",), "Did you mean 'load_x'?"),
        ("const rows_of = 1;\nfn f() -> i32 { return rowsOf; }", (), "Did you mean 'rows_of'?"),
        ("fn f() { qqqqq(); }", (), "a.wgsl:1:10: nothing is called 'qqqqq' here.\n"),
        ("fn f() { { let inner = 1; } g(innerr); }\nfn g(i: i32) {}", (), "here.\n"),
    ],
)  # fmt: skip
def test_an_unresolved_name_is_shown_with_what_may_be_meant(
    text: str, known: tuple[str, ...], message: str
) -> None:
    found = names(text)
    (problem,) = found.problems(known)
    assert message in problem.describe(found.module.text)


def test_names_that_are_known_from_elsewhere_are_no_problem() -> None:
    text = "fn f(x: T) -> T { return subgroupAdd(x) + vec2f(1).x + hold(x); }"
    assert names(text).problems(("T", "hold")) == ()
    assert [use.ident.name for use in names(text).unresolved] == ["T", "T", "hold"]


def test_our_shaders_name_nothing_that_neither_they_nor_the_composer_declare() -> None:
    given = ("wk_", "load", "store", "hold", "coords_", "Coords_", "has_", "attrs", "report_")
    files = shaders_folder().rglob("*.w[eg]sl")
    sources = [parse_source(read_text(path)) for path in files]
    found = [(names_of(one.module), {each.name for each in one.imports}) for one in sources]
    declared = {s.name for known, _ in found for s in known.symbols if s.is_global}
    for known, imported in found:
        unresolved = {use.ident.name for use in known.unresolved} - declared - imported
        strange = {n for n in unresolved if not n.startswith((*given, "T_")) and n != "T"}
        assert all(name.endswith("_rank") for name in strange), strange


def test_a_renamed_declaration_is_renamed_where_it_is_used_and_nowhere_else() -> None:
    found = names(SHADOWS)
    printed = print_module(found.module, rename(found, {"x": "one", "g": "x"})).composed.text
    again = names(printed)
    assert [(u.symbol and u.symbol.kind) for u in again.uses] == [
        (u.symbol and u.symbol.kind) for u in found.uses
    ]
    assert "const one = 1;" in printed
    assert "return one + y;" in printed
    assert "fn x(y: i32)" in printed
    assert "let x_ = x_ + 1;\n    x(x_);" in printed
    assert "var<private> z: array<i32, one>;" in printed


def test_names_from_outside_can_be_renamed_too() -> None:
    text = "fn op(x: T) -> T { let y = attrs.alpha; return attrs.attrs * T(y); }"
    new = {"attrs": "attrs_1", "T": "T_1", "op": "op_1"}
    assert renamed(names(text), new).text == (
        "fn op_1(x: T_1) -> T_1 { let y = attrs_1.alpha; return attrs_1.attrs * T_1(y); }"
    )


def test_a_local_name_that_would_hide_the_new_one_gives_way() -> None:
    text = "fn hold(x: f32) -> f32 { return x + p.x; }"
    assert renamed(names(text), {"p": "x"}).text == ("fn hold(x_: f32) -> f32 { return x_ + x.x; }")


def test_a_new_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'a' cannot be called 'b': a\.wgsl has it declared"):
        rename(names("const a = 1; const b = 2;"), {"a": "b"})
    with pytest.raises(ValueError, match=r"'a' cannot be called 'abs': a\.wgsl has it used"):
        rename(names("const a = 1; const b = abs(2);"), {"a": "abs"})
    assert rename(names("const b = abs(2);"), {"a": "abs"}) == ()
    swapped = names("const a = 1; const b = a;")
    edits = rename(swapped, {"a": "b", "b": "a"})
    assert print_module(swapped.module, edits).composed.text == "const b = 1;\nconst a = b;\n"


def test_a_text_that_is_not_understood_is_not_renamed() -> None:
    with pytest.raises(ShaderError, match=r"a\.wgsl:1:12: want"):
        rename(names("fn f() { a b; }"), {"f": "g"})


def test_a_fresh_name_is_none_of_those_taken() -> None:
    assert fresh("op", {"op", "op_"}) == "op__"
    assert fresh("op", ()) == "op"


def test_ops_of_several_files_go_into_one_text() -> None:
    one = "struct Attrs { alpha: f32 }\nfn half(x: T) -> T { return x * 0.5; }\n"
    texts = [
        Text("a.wgsl", one + "fn op(x: T) -> T {\n  return half(x) + attrs.alpha;\n}\n"),
        Text("b.wgsl", "fn op(x: T) -> T {\n  return -x;\n}\n"),
    ]
    fused = TextBuilder()
    for number, text in enumerate(texts):
        found = resolve(text)
        new = {s.name: f"{s.name}_{number}" for s in found.symbols if s.is_global}
        edits = rename(found, new | {"attrs": f"attrs_{number}"})
        for declaration in found.module.declarations:
            print_declaration(fused, found.module.text, declaration, edits)
    result = fused.finish()
    composed = result.composed
    assert "fn op_0(x: T) -> T {\n  return half_0(x) + attrs_0.alpha;\n}\n" in composed.text
    at = composed.place(composed.text.index("-x"))
    assert result.origin(at.line, at.column)[1].label == "b.wgsl:2:10"
    at = composed.place(composed.text.index("attrs_0.alpha"))
    assert result.origin(at.line, at.column)[1].label == "a.wgsl:4:20"
    assert not parse(Text("fused", composed.text)).problems


LETTERS = st.sampled_from("abcd")


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> str:
    """Draw statements that declare, use and nest a handful of names."""
    forms = ["let {0} = {1};", "use({0}, {1});", "var {0} = {0} + {1};"]
    parts = [
        draw(st.sampled_from(forms)).format(draw(LETTERS), draw(LETTERS))
        for _ in range(draw(st.integers(0, 4)))
    ]
    if depth:
        opener = draw(st.sampled_from(["{", "if a {", "loop {", "for (var b = a; b < c; b++) {"]))
        parts.insert(draw(st.integers(0, len(parts))), f"{opener} {draw(blocks(depth - 1))} }}")
    return " ".join(parts)


@few
@given(blocks(), st.permutations("abcd"))
def test_renaming_there_and_back_changes_no_meaning(body: str, order: list[str]) -> None:
    text = (
        f"const a = 1; var<private> b: i32; fn c(a: i32, d: i32) {{ {body} }} fn use(x: i32) {{}}"
    )
    found = names(text)
    new = {"a": order[0] + "1", "b": order[1] + "1", "c": order[2]}
    if order[2] in ("a", "b", "d"):
        new["c"] = order[2] + "1"
    again = names(renamed(found, new).text)

    def shape(of: Names) -> list[int | None]:
        order = {id(symbol): number for number, symbol in enumerate(of.symbols)}
        return [order[id(use.symbol)] if use.symbol else None for use in of.uses]

    assert shape(again) == shape(found)
