"""Imports of all names of a module."""

from __future__ import annotations

import pytest
from tests.wesl.linked import check, refusal

import wgsl_kernels as wk


def test_a_name_that_two_wildcards_give_is_refused_only_where_it_is_used() -> None:
    modules = """
// === main.wesl
import package::a::*;
import package::b::*;
import package::c::*;
fn main() { only_a(); only_b(); same(); }
// === a.wesl
public import package::c::same;
fn only_a() { }
fn both() { }
// === b.wesl
fn only_b() { }
fn both() { }
// === c.wesl
fn same() { }
"""
    check(
        modules,
        "fn main() { only_a(); only_b(); same(); } fn only_a() { } fn only_b() { } fn same() { }",
    )
    said = refusal(modules.replace("same(); }", "both(); }"))
    assert said.startswith("main.wesl:4:33: 'both' may be package::a::both and package::b::both.")


def test_a_wildcard_gives_way_to_declarations_and_imports_and_hides_builtins() -> None:
    check(
        """
// === main.wesl
import package::a::*;
import package::b::named;
fn own() -> i32 { return 0; }
const x = own() + named() + max(1, 2);
// === a.wesl
fn own() -> i32 { return 1; }
fn named() -> i32 { return 1; }
fn max(a: i32, b: i32) -> i32 { return a; }
// === b.wesl
fn named() -> i32 { return 2; }
""",
        "fn own() -> i32 { return 0; } const x = own() + named() + max(1, 2);"
        "fn named() -> i32 { return 2; } fn max(a: i32, b: i32) -> i32 { return a; }",
    )


@pytest.mark.parametrize(
    ("before", "marked", "said"),
    [
        (
            "import lib::*;",
            False,
            "1:13: lib is not @!wildcardable: names added to it later could clash.",
        ),
        ("import lib::*;", True, ""),
        ("@diagnostic(off, unsupported_wildcard) import lib::*;", False, ""),
        ("@diagnostic(error, unsupported_wildcard) import lib::*;", False, "1:54: lib is not"),
        ("import lib::*; diagnostic(off, unsupported_wildcard);", False, ""),
        ("import lib::*; diagnostic(off, wildcard_shadow);", False, "1:13: lib is not"),
    ],
)
def test_all_names_of_another_package_are_imported_only_where_it_says_so(
    before: str, marked: bool, said: str
) -> None:
    modules = {"main.wesl": f"{before} const a = x;"}
    packages = {"lib": {"package.wesl": f"{'@!wildcardable;' if marked else ''} const x = 1;"}}
    if said:
        with pytest.raises(wk.ShaderError) as caught:
            wk.link(modules, packages=packages)
        assert str(caught.value).startswith(f"main.wesl:{said}")
    else:
        assert wk.link(modules, packages=packages).text == "const a = x;\nconst x = 1;\n"


def test_a_library_names_what_it_imports_from_another_one() -> None:
    modules = {"main.wesl": "const a = one::x;"}
    two = {"package.wesl": "@!wildcardable; const y = 1;"}
    for allowed in ("", "@diagnostic(off, cross_package_wildcard) "):
        one = {"package.wesl": f"{allowed}import two::*; import package::m::*; const x = y + z;"}
        packages = {"one": {**one, "m.wesl": "const z = 2;"}, "two": two}
        if allowed:
            assert wk.link(modules, packages=packages).text.count("const") == 4
        else:
            with pytest.raises(
                wk.ShaderError, match=r"^one/package.wesl:1:13: one is in a library, two in"
            ):
                wk.link(modules, packages=packages)


def test_all_constants_of_the_host_may_be_imported_at_once() -> None:
    modules = {"main.wesl": "import constants::*; const a = N;"}
    assert wk.link(modules, constants={"N": 2}).text == "const a = N;\nconst N = 2;\n"
