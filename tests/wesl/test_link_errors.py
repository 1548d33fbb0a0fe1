"""What linking refuses, and where it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.wesl.linked import refusal

import wgsl_kernels as wk

MATH = {
    "util/math.wesl": "fn norm(x: f32) -> f32 { return x; }\nprivate fn inner() { }\n",
    "util/cycle.wesl": "public import super::cycle::again;",
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fn f() { missing(); }", "1:10: nothing is called 'missing' here."),
        ("fn f() { let y = fmod(1.0, 2.0); }", "1:18: WGSL has no 'fmod'. Write a % b."),
        ("fn f(x: float) { }", "1:9: WGSL has no type 'float'. Write f32, or T for the type"),
        ("fn f() { var n = 0; ++n; }", "1:21: want an expression, found '++'. Write it behind"),
        ("fn f() { int k = 0; }", "1:14: want an assignment, found 'k'. A declaration begins"),
        ("fn f() { if (true and true) { } }", "1:19: want ')', found 'and'. Write &&."),
        (
            "fn f() { workgroupBarier(); }",
            "1:10: nothing is called 'workgroupBarier' here. Did you mean 'workgroupBarrier'?",
        ),
        (
            "const longer = 1; const b = length2;",
            "1:29: nothing is called 'length2' here. Did you mean 'length'?",
        ),
        (
            "import package::util::math::nrm;\nconst a = nrm(1);",
            "1:29: package::util::math declares no 'nrm'. Did you mean 'norm'?",
        ),
        (
            "import package::util::maths::norm;\nconst a = norm(1);",
            "1:30: there is no module package::util::maths. Did you mean 'package::util::math'?",
        ),
        (
            "import package::util::math;\nconst a = math::nrm(1);",
            "2:11: package::util::math declares no 'nrm'.",
        ),
        (
            "import package::util::maths as m;\nconst a = m::norm(1);",
            "2:11: there is no module package::util::maths.",
        ),
        (
            "import util::math::norm;\nconst a = norm(1);",
            "1:20: there is no package 'util'. Pass it in packages=.",
        ),
        ("const a = util::math::norm(1);", "1:11: there is no package 'util'."),
        ("const a = super::super::x;", "1:11: super::super leaves the package of package::main."),
        ("const a = package::x;", "1:11: there is no module package."),
        (
            "import package::nothing::*;\nconst a = norm(1);",
            "1:26: there is no module package::nothing.",
        ),
        (
            "import foo;\nconst a = foo;",
            "1:8: 'foo' is a package, not a declaration; want foo::name.",
        ),
        ("const a = constants::x;", "1:11: no constants are given. Pass them in constants=."),
        (
            "fn f() { package::util::math::inner(); }",
            "1:10: package::util::math::inner is private to its module.",
        ),
        (
            "import package::util::cycle::again; fn f() { again(); }",
            "1:30: package::util::cycle::again is imported from itself.",
        ),
        ("public import package::util::math::nrm;", "1:36: package::util::math declares no 'nrm'."),
        (
            "fn f() { let value01 = 1; let x = value02; }",
            "1:35: nothing is called 'value02' here. Did you mean 'value01'?",
        ),
        ("fn f(x: Missing) { }", "1:9: nothing is called 'Missing' here."),
        ("@workgroup_size(N) @compute fn f() { }", "1:17: nothing is called 'N' here."),
        ("fn f() { { let x = 1; } let y = x; }", "1:33: nothing is called 'x' here."),
        ("const x = a < b || c && d;", "1:17: '&&' beside '||' wants parentheses."),
    ],
)
def test_a_name_that_means_nothing_is_refused_at_its_place(text: str, said: str) -> None:
    message = refusal({"main.wesl": text, **MATH})
    line, column = (int(part) for part in message.split(":")[1:3])

    assert message.startswith(f"main.wesl:{said}")
    assert message.splitlines()[1:] == [
        f"    {text.splitlines()[line - 1]}",
        f"    {' ' * (column - 1)}^",
    ]


def test_what_a_comment_of_another_module_names_is_not_suggested() -> None:
    modules = {
        "main.wesl": "import package::a::other;\nconst b = other();",
        "a.wesl": "const one = 1;",
        "c.wesl": "// fn other() is to come\nconst two = 2;",
    }
    assert "Did you mean" not in refusal(modules)
    modules["c.wesl"] = "fn other() -> i32 { return 1; }"
    assert "Did you mean 'package::c::other'?" in refusal(modules)


def test_the_place_is_in_the_module_that_is_wrong() -> None:
    modules = {
        "main.wgsl": "import noise::a::f; fn main() { f(); }",
    }
    packages = {"noise": {"a.wgsl": "\n\tfn f() { g(); }"}}

    with pytest.raises(wk.ShaderError) as caught:
        wk.link(modules, packages=packages)
    assert str(caught.value) == (
        "noise/a.wgsl:2:11: nothing is called 'g' here.\n    \tfn f() { g(); }\n    \t         ^"
    )


def test_what_is_not_reached_is_not_looked_at() -> None:
    modules = {
        "main.wgsl": "import package::a::f; fn main() { f(); }",
        "a.wgsl": "fn f() { } fn g() { missing(); }",
        "b.wgsl": "this is no WGSL",
    }
    assert wk.link(modules).text == "fn main() {\n  f();\n}\nfn f() {}\n"


@pytest.mark.parametrize(
    ("modules", "options", "said"),
    [
        ({}, {}, "link: root='main' is none of the modules: none given."),
        (
            {"a.wgsl": "", "b/c.wesl": ""},
            {},
            "link: root='main' is none of the modules: package::a, package::b::c.",
        ),
        ("fn f() { }", {}, "link: modules is 'fn f() { }'; want a mapping."),
        ({"main.wgsl": ""}, {"conditions": ["a"]}, "link: conditions is ['a']; want a mapping."),
        ({"main.txt": ""}, {}, "link: module 'main.txt' has no ending; want .wesl or .wgsl."),
        ({"main.wgsl": b""}, {}, "link: module 'main.wgsl' is bytes; want its text."),
        ({"../main.wgsl": ""}, {}, "link: '../main.wgsl' is no path within the package"),
        ({"/main.wgsl": ""}, {}, "link: '/main.wgsl' is no path within the package"),
        (
            {"main.wgsl": "", "./main.wgsl": ""},
            {},
            "link: module './main.wgsl' is given twice; 'main.wgsl' is the same.",
        ),
        (
            {"main.wgsl": ""},
            {"mangle": "hash"},
            "link: mangle='hash' is unknown; want 'clash' or 'path'.",
        ),
        (
            {"main.wgsl": ""},
            {"conditions": {"a": 1}},
            "link: condition 'a' is 1; want True or False.",
        ),
        (
            {"main.wgsl": ""},
            {"constants": {"a": float("nan")}},
            "link: constant 'a' is nan; want a finite number",
        ),
        ({"main.wgsl": ""}, {"constants": {"a": np.float32("inf")}}, "link: constant 'a' is"),
        (
            {"main.wgsl": ""},
            {"constants": {"a": [1]}},
            "link: constant 'a' is [1]; want a finite number",
        ),
        (
            {"main.wgsl": ""},
            {"constants": {"a": "1 +"}},
            "link: constant 'a' is '1 +', which is no expression.",
        ),
        ({"main.wgsl": ""}, {"constants": {"a b": 1}}, "link: constant 'a b' is no name in WGSL."),
        ({"main.wgsl": ""}, {"constants": {"fn": 1}}, "link: constant 'fn' is no name in WGSL."),
        (
            {"main.wgsl": ""},
            {"packages": {"package": {}}},
            "link: no package can be called 'package'.",
        ),
        (
            {"main.wgsl": ""},
            {"packages": {"constants": {}}, "constants": {"a": 1}},
            "link: no package can be called 'constants'.",
        ),
        (
            {"main.wgsl": ""},
            {"packages": {"a": "text"}},
            "link: package 'a' is 'text'; want texts by file path.",
        ),
    ],
)
def test_a_bad_argument_is_refused(modules: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(wk.ArgumentError) as caught:
        wk.link(modules, **options)
    assert str(caught.value).startswith(said)


def test_a_package_may_be_called_constants_where_no_constants_are_given() -> None:
    linked = wk.link(
        {"main.wgsl": "const a = constants::x;"},
        packages={"constants": {"package.wgsl": "const x = 1;"}},
    )
    assert linked.text == "const a = x;\nconst x = 1;\n"
