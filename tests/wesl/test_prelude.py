"""Names that the caller declares: modules use them without import, and they stay."""

from __future__ import annotations

import pytest
from tests.wesl.linked import module_path, modules_of, parts

import wgsl_kernels as wk
from wgsl_kernels.wgsl.linking.linker import LinkedModule, link_project
from wgsl_kernels.wgsl.linking.prelude import Prelude
from wgsl_kernels.wgsl.linking.project import Project

NAMES = frozenset({"T", "attrs", "load_x", "store_y"})
PRELUDE = Prelude(NAMES)


def link(text: str, prelude: Prelude) -> LinkedModule:
    return link_project(Project(modules_of(text), {}, prelude), module_path("package::main"))


def check(text: str, expected: str, prelude: Prelude = PRELUDE) -> LinkedModule:
    linked = link(text, prelude)
    assert parts(linked.write().composed.text) == parts(expected), linked.write().composed.text
    return linked


def refusal(text: str, prelude: Prelude = PRELUDE) -> str:
    with pytest.raises(wk.ShaderError) as caught:
        link(text, prelude)
    return str(caught.value)


def test_its_names_are_used_without_import_and_are_told_of() -> None:
    linked = check(
        "// === main.wgsl\nfn op(x: T) -> T { return x * attrs.alpha; }",
        "fn op(x: T) -> T { return x * attrs.alpha; }",
    )
    assert linked.prelude == {"T", "attrs"}


def test_a_library_may_use_them() -> None:
    check(
        """
// === main.wgsl
import package::lib::double;
fn op(x: T) -> T { return double(x); }
// === lib.wesl
fn double(x: T) -> T { return x + x; }
""",
        "fn op(x: T) -> T { return double(x); } fn double(x: T) -> T { return x + x; }",
    )


def test_only_the_chosen_modules_may() -> None:
    text = """
// === main.wgsl
import package::lib::double;
fn op(x: T) -> T { return double(x); }
// === lib.wesl
fn double(x: T) -> T { return x + x; }
"""
    chosen = Prelude(NAMES, frozenset({module_path("package::main")}))
    assert refusal(text, chosen).startswith("lib.wesl:1:14: nothing is called 'T' here.")
    check(
        "// === main.wgsl\nconst a = T(1);",
        "const a = T(1);",
        chosen,
    )


def test_any_other_name_is_refused_at_its_place() -> None:
    said = refusal("// === main.wgsl\nfn op(i: u32) -> T {\n  return load_y(i);\n}")
    assert said.startswith("main.wgsl:2:10: nothing is called 'load_y' here. Did you mean 'load_x'")


def test_what_the_module_declares_or_imports_wins() -> None:
    linked = check(
        """
// === main.wgsl
import package::lib::load_x;
alias T = u32;
fn op(i: T) -> T { return load_x(i); }
// === lib.wesl
fn load_x(i: u32) -> u32 { return i; }
""",
        "alias T = u32; fn op(i: T) -> T { return load_x0(i); } "
        "fn load_x0(i: u32) -> u32 { return i; }",
    )
    assert linked.prelude == frozenset()


def test_what_is_declared_gives_way_where_another_module_means_the_prelude() -> None:
    check(
        """
// === main.wgsl
import package::lib::double;
alias T = u32;
fn op(i: T) -> f32 { return f32(double(f32(i))); }
// === lib.wesl
fn double(x: T) -> T { return x + x; }
""",
        "alias T0 = u32; fn op(i: T0) -> f32 { return f32(double(f32(i))); } "
        "fn double(x: T) -> T { return x + x; }",
    )


def test_a_number_never_makes_a_name_of_the_prelude() -> None:
    check(
        """
// === main.wgsl
import package::lib::f as g;
fn f() -> T { return g(); }
fn h() -> T { return package::other::f(); }
// === lib.wesl
fn f() -> T { return T(0); }
// === other.wesl
fn f() -> T { return T(1); }
""",
        "fn f() -> T { return g(); } fn h() -> T { return f1(); } "
        "fn g() -> T { return T(0); } fn f1() -> T { return T(1); }",
        Prelude(NAMES | {"f0"}),
    )


def test_an_entry_point_called_like_a_name_that_is_used_is_refused() -> None:
    said = refusal(
        """
// === main.wgsl
import package::lib::f;
@compute @workgroup_size(1) fn store_y() { f(); }
// === lib.wesl
fn f() { store_y(1u, 2.0); }
"""
    )
    assert said.startswith(
        "main.wgsl:2:1: the host sees 'store_y', but it is used as the prelude's"
    )
