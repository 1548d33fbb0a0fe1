"""Names in linked text: kept where they can be, numbered where two clash, never captured."""

from __future__ import annotations

import pytest
from tests.wesl.linked import check, parts, refusal

import wgsl_kernels as wk
from wgsl_kernels.wgsl.linking.naming import underscore_count

CLASHING = """
// === main.wgsl
import package::a::f;
import package::b::f as g;
fn helper() { f(); g(); }
// === a.wgsl
fn f() { helper(); }
fn helper() { shared(); }
fn shared() { }
// === b.wgsl
fn f() { helper(); package::a::shared(); }
fn helper() { }
"""


def test_the_root_keeps_its_names_and_others_are_numbered_in_order() -> None:
    linked = check(
        CLASHING,
        """
fn helper() { f(); g(); }
fn f() { helper0(); }
fn g() { helper1(); shared(); }
fn helper0() { shared(); }
fn helper1() { }
fn shared() { }
""",
    )
    assert linked.text == wk.link(
        dict(reversed([*_modules(CLASHING).items()])), conditions={"unused": True}
    ).text  # fmt: skip


def _modules(text: str) -> dict[str, str]:
    from tests.wesl.linked import project

    return project(text)


def test_names_may_be_made_of_paths() -> None:
    check(
        CLASHING,
        """
fn helper() { package_a_f(); package_b_f(); }
fn package_a_f() { package_a_helper(); }
fn package_b_f() { package_b_helper(); package_a_shared(); }
fn package_a_helper() { package_a_shared(); }
fn package_b_helper() { }
fn package_a_shared() { }
""",
        mangle="path",
    )


@pytest.mark.parametrize(
    ("segments", "name"),
    [
        (("package", "a", "f"), "package_a_f"),
        (("bevy_pbr", "lighting", "main"), "_1bevy_pbr_lighting_main"),
        (("a", "_b__c", "d_"), "a__3_b__c__1d_"),
    ],
)
def test_underscores_in_a_segment_are_counted(segments: tuple[str, ...], name: str) -> None:
    assert underscore_count(segments) == name


def test_a_path_name_that_is_taken_is_numbered() -> None:
    check(
        """
// === main.wgsl
fn package_a_f() { package::a::f(); }
// === a.wgsl
fn f() { }
""",
        "fn package_a_f() { package_a_f0(); } fn package_a_f0() { }",
        mangle="path",
    )


def test_two_names_for_one_declaration_are_one() -> None:
    check(
        """
// === main.wgsl
import package::a::f as first;
import package::a::f as second;
import package::a;
fn main() { first(); second(); a::f(); }
// === a.wgsl
fn f() { }
""",
        "fn main() { first(); first(); first(); } fn first() { }",
    )


def test_a_number_is_passed_over_where_the_name_is_there() -> None:
    check(
        """
// === main.wgsl
fn x() { let x1 = 1; package::a::f(); }
fn x0() { }
// === a.wgsl
fn f() { x(); let x2 = 1; }
fn x() { }
""",
        "fn x() { let x1 = 1; f(); } fn x0() { } fn f() { x3(); let x2 = 1; } fn x3() { }",
    )


def test_a_number_makes_no_name_of_wgsl() -> None:
    check(
        """
// === main.wgsl
fn vec() { package::a::f(); }
fn vec0() { } fn vec1() { }
// === a.wgsl
fn f() { vec(); }
fn vec() { }
""",
        "fn vec() { f(); } fn vec0() { } fn vec1() { } fn f() { vec5(); } fn vec5() { }",
    )


def test_who_hides_a_name_of_wgsl_gives_way_to_who_uses_it() -> None:
    check(
        """
// === main.wgsl
import package::a::f;
fn max(x: i32) -> i32 { return f(x); }
const y = max(1);
// === a.wgsl
alias f32 = i32;
fn f(x: i32) -> f32 { return max(x, package::b::zero()); }
// === b.wgsl
fn zero() -> i32 { return i32(f32(0)); }
""",
        "fn max0(x: i32) -> i32 { return f(x); } const y = max0(1);"
        "fn f(x: i32) -> f320 { return max(x, zero()); } fn zero() -> i32 { return i32(f32(0)); }"
        "alias f320 = i32;",
    )


def test_what_the_host_sees_cannot_give_way() -> None:
    said = refusal(
        """
// === main.wgsl
override max: f32 = 1.0;
const y = package::a::f();
// === a.wgsl
fn f() -> i32 { return max(1, 2); }
"""
    )
    assert said.startswith("main.wgsl:1:1: the host sees 'max', but it is used as WGSL's own name")


@pytest.mark.parametrize("mangle", ["clash", "path"])
def test_entry_points_and_overrides_of_the_root_keep_their_names(mangle: str) -> None:
    text = (
        "override WIDTH: u32 = 8; @compute @workgroup_size(WIDTH) fn main() { }"
        "@vertex fn vs() -> @builtin(position) vec4f { return vec4f(); }"
        "@fragment fn fs() -> @location(0) vec4f { return vec4f(); }"
    )
    assert parts(wk.link({"main.wgsl": text}, mangle=mangle).text) == parts(text)  # type: ignore[arg-type]  # a parametrised literal


def test_locals_parameters_and_members_keep_theirs() -> None:
    check(
        """
// === main.wgsl
import package::a::{value, S};
fn f(value: i32, s: S) -> i32 {
  let twice = value + s.value;
  { let value = twice; _ = value; }
  for (var S = 0; S < value; S++) { _ = S; }
  return value;
}
fn g() -> i32 {
  { let value = value; _ = value; }
  let x = value;
  var value = 1;
  loop { let value = x; continuing { break if value == 1; } }
  return value;
}
// === a.wgsl
const value = 1;
struct S { value: i32 }
""",
        """
fn f(value: i32, s: S) -> i32 {
  let twice = value + s.value;
  { let value = twice; _ = value; }
  for (var S = 0; S < value; S++) { _ = S; }
  return value;
}
fn g() -> i32 {
  { let value = value; _ = value; }
  let x = value;
  var value = 1;
  loop { let value = x; continuing { break if value == 1; } }
  return value;
}
const value = 1;
struct S { value: i32 }
""",
    )


def test_a_local_that_would_capture_a_linked_name_is_renamed() -> None:
    check(
        """
// === main.wgsl
import package::a;
import package::a::other as mine;
fn f(scale: f32) -> f32 {
  let other = 2.0;
  { let scale = scale; return a::scale * scale; }
  return a::scale * scale + mine * other;
}
fn g() -> f32 { let scale = 1.0; return scale; }
// === a.wgsl
const scale = 3.0;
const other = 4.0;
""",
        """
fn f(scale0: f32) -> f32 {
  let other = 2.0;
  { let scale0 = scale0; return scale * scale0; }
  return scale * scale0 + mine * other;
}
fn g() -> f32 { let scale = 1.0; return scale; }
const scale = 3.0;
const mine = 4.0;
""",
    )


def test_a_name_that_the_root_gives_is_not_captured_elsewhere() -> None:
    check(
        """
// === main.wgsl
import package::a::{f, value as x};
const y = f(1) + x;
// === a.wgsl
const value = 1;
fn f(x: i32) -> i32 { return x + value; }
""",
        "const y = f(1) + x; fn f(x0: i32) -> i32 { return x0 + x; } const x = 1;",
    )


def test_attributes_and_enumerants_are_not_declarations() -> None:
    text = """
// === main.wgsl
import package::a::{size, flat};
const position = flat;
struct V { @builtin(position) p: vec4f, @location(size) @interpolate(flat) i: u32 }
@group(size) @binding(size) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(size) fn main() {
  @diagnostic(off, size) { data[0] = 1u; }
}
// === a.wgsl
const size = 1;
const flat = 2;
"""
    check(
        text,
        """
const position = package_a_flat;
struct V { @builtin(position) p: vec4f, @location(package_a_size) @interpolate(flat) i: u32 }
@group(package_a_size) @binding(package_a_size) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(package_a_size) fn main() {
  @diagnostic(off, size) { data[0] = 1u; }
}
const package_a_size = 1;
const package_a_flat = 2;
""",
        mangle="path",
    )


def test_a_long_sum_is_renamed_to_its_end() -> None:
    terms = " + ".join(["a::x"] * 900)
    linked = wk.link(
        {"main.wgsl": f"import package::a; const y = {terms};", "a.wgsl": "const x = 1;"}
    )

    assert linked.text == f"const y = {' + '.join(['x'] * 900)};\nconst x = 1;\n"
