"""Conditional translation: where conditions may stand, and what they make of a module."""

from __future__ import annotations

import itertools

import pytest
from tests.wesl.linked import check, parts, refusal

import wgsl_kernels as wk

# (around, what a condition decorates twice, what stays): %s is the place of both.
PLACES = {
    "diagnostic": ("%s", "diagnostic(off, a{});"),
    "enable": ("%s", "enable a{};"),
    "requires": ("%s", "requires a{};"),
    "const": ("%s", "const a{} = 1;"),
    "override": ("%s", "override a{}: f32;"),
    "override with an id": ("%s", "@id({}) override a{}: f32;"),
    "var": ("%s", "@group(0) @binding(0) var<storage> a{}: array<f32>;"),
    "alias": ("%s", "alias a{} = f32;"),
    "struct": ("%s", "struct A{} {{ x: u32 }}"),
    "fn": ("%s", "@compute @workgroup_size(1) fn a{}() {{ }}"),
    "const_assert": ("%s", "const_assert {} < 9;"),
    "member": ("struct S { z: u32, %s }", "@align(16) a{}: u32,"),
    "parameter": ("fn f(z: u32, %s) { }", "a{}: u32,"),
    "local const": ("fn f() { %s }", "const a{} = 1;"),
    "let": ("fn f() { %s }", "let a{} = 1;"),
    "local var": ("fn f() { %s }", "var a{} = 1;"),
    "block": ("fn f() { %s }", "{{ let a{} = 1; }}"),
    "block with attribute": ("fn f() { %s }", "@diagnostic(off, b) {{ let a{} = 1; }}"),
    "assignment": ("fn f() { var x = 0; %s }", "x = {};"),
    "assignment in parentheses": ("fn f() { var x = 0; %s }", "(x) = {};"),
    "phony": ("fn f() { %s }", "_ = {};"),
    "compound": ("fn f() { var x = 0; %s }", "x += {};"),
    "increment": ("fn f() { var x1 = 0; var x2 = 0; var x3 = 0; %s }", "x{}++;"),
    "decrement": ("fn f() { var x1 = 0; var x2 = 0; var x3 = 0; %s }", "(x{})--;"),
    "if": ("fn f() { %s }", "if 1 < {} {{ }} else if 2 < {} {{ }} else {{ }}"),
    "switch": ("fn f() { %s }", "switch {} {{ default {{ }} }}"),
    "clause": ("fn f() { switch 0 { default { } %s } }", "case {}: {{ }}"),
    "default clause": ("fn f() { switch 0 { case 9: { } %s } }", "default {{ let a{} = 1; }}"),
    "loop": ("fn f() { %s }", "loop {{ let a{} = 1; break; }}"),
    "for": ("fn f() { %s }", "for (var a{} = 0; a{} < 10; a{}++) {{ }}"),
    "while": ("fn f() { %s }", "while {} > 9 {{ }}"),
    "break": ("fn f() { loop { %s } }", "break;"),
    "break if": ("fn f() { loop { continuing { %s } } }", "break if 0 < {};"),
    "continue": ("fn f() { loop { break; %s } }", "continue;"),
    "continuing": ("fn f() { loop { break; %s } }", "continuing {{ let a{} = 1; }}"),
    "return": ("fn f() -> i32 { %s }", "return {};"),
    "discard": ("fn f() { %s }", "discard;"),
    "call": ("fn f() { %s }", "storageBarrier();"),
    "local const_assert": ("fn f() { %s }", "const_assert {} < 9;"),
}


def numbered(form: str, number: int) -> str:
    return form.replace("{}", str(number)).replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(("around", "form"), PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("chosen", [1, 2, 3])
def test_a_condition_may_decorate(around: str, form: str, chosen: int) -> None:
    one, two, three = (numbered(form, n) for n in (1, 2, 3))
    inner = f"@if(a) {one} @elif(b) {two} @else {three}"
    linked = wk.link(
        {"main.wesl": around.replace("%s", inner)},
        conditions={"a": chosen == 1, "b": chosen == 2},
    )
    assert parts(linked.text) == parts(around.replace("%s", numbered(form, chosen)))


@pytest.mark.parametrize(("around", "form"), PLACES.values(), ids=PLACES.keys())
def test_without_else_nothing_may_stay(around: str, form: str) -> None:
    inner = f"@if(a) {numbered(form, 1)} @elif(b) {numbered(form, 2)}"
    linked = wk.link(
        {"main.wesl": around.replace("%s", inner)}, conditions={"a": False, "b": False}
    )
    assert parts(linked.text) == parts(around.replace("%s", ""))


@pytest.mark.parametrize("order", ["@if(a) @compute", "@compute @if(a)"])
def test_the_order_of_attributes_does_not_matter(order: str) -> None:
    text = f"{order} @workgroup_size(1) fn main() {{ }}"
    kept = "@compute @workgroup_size(1) fn main() { }"
    assert parts(wk.link({"main.wgsl": text}, conditions={"a": True}).text) == parts(kept)
    assert wk.link({"main.wgsl": text}, conditions={"a": False}).text == ""


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("a && b", lambda a, b: a and b),
        ("a || b", lambda a, b: a or b),
        ("!a || b", lambda a, b: not a or b),
        ("!(a && !b),", lambda a, b: not (a and not b)),
        ("(a || false) && (true && (b))", lambda a, b: a and b),
        ("!!a", lambda a, b: a),
    ],
)
def test_a_condition_is_an_expression_of_bools(condition: str, value: object) -> None:
    assert callable(value)
    for a, b in itertools.product((False, True), repeat=2):
        text = f"@if({condition}) const x = 1;"
        linked = wk.link({"main.wgsl": text}, conditions={"a": a, "b": b})
        assert linked.text == ("const x = 1;\n" if value(a, b) else "")


def test_imports_take_conditions() -> None:
    modules = """
// === main.wesl
@if(fast) import package::quick::{norm, other};
@elif(exact) import package::slow::norm;
@else import package::plain::norm;
const n = norm;
// === quick.wesl
const norm = 1;
// === slow.wesl
const norm = 2;
// === plain.wesl
const norm = 3;
"""
    for number, given in enumerate([(True, True), (False, True), (False, False)], 1):
        conditions = dict(zip(("fast", "exact"), given, strict=True))
        check(modules, f"const n = norm; const norm = {number};", conditions=conditions)


def test_what_is_removed_needs_no_module_and_brings_none() -> None:
    check(
        """
// === main.wesl
@if(debug) import nowhere::log;
fn main() {
  @if(debug) { log(); missing(); }
  @if(debug) package::checked::f();
  @else { package::kept::g(); }
}
// === checked.wesl
const_assert false;
fn f() { }
// === kept.wesl
@if(debug) fn g() { missing(); }
@else fn g() { }
""",
        "fn main() { { g(); } } fn g() { }",
        conditions={"debug": False},
    )


def test_conditions_and_declarations_have_names_of_their_own() -> None:
    check(
        "// === main.wgsl\nconst a = 10;\n@if(a) fn f() -> i32 { return a; }\n",
        "const a = 10; fn f() -> i32 { return a; }",
        conditions={"a": True},
    )


@pytest.mark.parametrize("form", ["public fn {}() {{ }}", "private struct {} {{ x: u32 }}"])
@pytest.mark.parametrize("attribute", ["", "@must_use "])
def test_conditions_come_before_visibility(form: str, attribute: str) -> None:
    text = f"@if(on) {attribute}{form.format('One')} @else {attribute}{form.format('Two')}"
    for on, name, other in ((True, "One", "Two"), (False, "Two", "One")):
        linked = wk.link({"main.wesl": text}, conditions={"on": on}).text
        assert f" {name}" in linked
        assert other not in linked


def test_a_removed_local_shadows_nothing() -> None:
    check(
        """
// === main.wgsl
fn main() { package::util::func(); }
// === util.wgsl
const foo = 1;
const bar = 2;
fn func() {
  @if(on) let foo = 3;
  let x = foo;
  @if(!on) let bar = 4;
  let y = bar;
}
""",
        "fn main() { func(); } fn func() { let foo = 3; let x = foo; let y = bar; } const bar = 2;",
        conditions={"on": True},
    )


def test_conditions_nest_and_each_list_has_its_own_chain() -> None:
    text = """
// === main.wgsl
fn f() {
  @if(a) {
    @if(b) let x = 1;
    @elif(a) let x = 2;
    @else let x = 3;
  } @else {
    let x = 4;
  }
  if true { @if(b) let y = 1; @else let y = 2; } else { @if(!b) let y = 3; }
  switch 0 { @if(b) case 1: { } @else default { } }
}
"""
    check(
        text,
        "fn f() { { let x = 2; } if true { let y = 2; } else { let y = 3; }"
        "switch 0 { default { } } }",
        conditions={"a": True, "b": False},
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@if(a) const x = 1;", "1:5: the condition 'a' is not given. Pass it in conditions=."),
        ("@if(true || a) const x = 1;", "1:13: the condition 'a' is not given"),
        ("@if(true) const x = 1; @elif(a) const x = 2;", "1:30: the condition 'a' is not given"),
        ("@if const x = 1;", "1:1: want @if(condition)."),
        ("@if() const x = 1;", "1:1: want @if(condition)."),
        ("@if(true, false) const x = 1;", "1:1: want @if(condition)."),
        ("@if(1) const x = 1;", "1:5: a condition is made of"),
        ("@if(true == false) const x = 1;", "1:5: a condition is made of"),
        ("@if(f(true)) const x = 1;", "1:5: a condition is made of"),
        ("@if(a::b) const x = 1;", "1:5: a condition is made of"),
        ("@if(true & false) const x = 1;", "1:5: a condition is made of"),
        ("@if(true) @if(true) const x = 1;", "1:11: one element takes one of"),
        ("@else const x = 1;", "1:1: @else wants an @if or @elif on what stands before it."),
        ("@elif(true) const x = 1;", "1:1: @elif wants an @if"),
        ("@if(true) const x = 1; const y = 2; @else const x = 3;", "1:37: @else wants an @if"),
        ("@if(true) const x = 1; @else const x = 2; @else const x = 3;", "1:43: @else wants"),
        ("@if(true) fn f() { @else let x = 1; }", "1:20: @else wants an @if"),
        ("fn f() { @if(true) { } } @else fn g() { }", "1:26: @else wants an @if"),
        ("fn f() { if true { @if(true) f(); } else { @else f(); } }", "1:44: @else wants an @if"),
        ("fn f() { @if(true) switch 0 { @else default { } } }", "1:31: @else wants an @if"),
        ("fn f() -> @if(true) i32 { }", "1:11: a condition cannot decorate this"),
        ("fn f() @if(true) { }", "1:8: a condition cannot decorate this"),
        ("fn f() { if true @if(true) { } }", "1:18: a condition cannot decorate this"),
        ("fn f() { if true { } else @if(true) { } }", "1:27: a condition cannot decorate this"),
        ("fn f() { loop @if(true) { } }", "1:15: a condition cannot decorate this"),
        ("fn f() { while true @if(true) { } }", "1:21: a condition cannot decorate this"),
        ("fn f() { for (;;) @if(true) { } }", "1:19: a condition cannot decorate this"),
        ("fn f() { switch 0 @if(true) { default { } } }", "1:19: a condition cannot decorate this"),
        ("fn f() { switch 0 { default @if(true) { } } }", "1:29: a condition cannot decorate this"),
        ("fn f() { let x = @if(true) 1; }", "1:18: want an expression"),
        ("@if(true)", "1:10: want a declaration"),
        ("@if(false) fn f() { let = 1; }", "1:25: want"),
        ("@if(false) import a::;", "1:22: want"),
        ("fn f() { switch 0 { @unknown(1) default { } } }", "1:21: a clause takes no attribute"),
    ],
)
def test_a_condition_is_refused_at_its_place(text: str, said: str) -> None:
    assert refusal({"main.wgsl": text}).startswith(f"main.wgsl:{said}")


def test_a_condition_is_asked_for_only_in_modules_that_are_linked() -> None:
    modules = {"main.wgsl": "fn f() { }", "other.wgsl": "@if(never_given) const x = 1;"}
    assert wk.link(modules).text == "fn f() {}\n"


def test_one_module_is_linked_under_many_conditions() -> None:
    modules = {"main.wgsl": "@if(a) const x = 1; @else const x = 2;"}
    for _ in range(2):
        assert wk.link(modules, conditions={"a": True, "unused": True}).text == "const x = 1;\n"
        assert wk.link(modules, conditions={"a": False}).text == "const x = 2;\n"
