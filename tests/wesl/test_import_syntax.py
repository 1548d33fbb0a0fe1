"""What is an import statement and what is not."""

from __future__ import annotations

import pytest
from tests.wesl.linked import refusal

import wgsl_kernels as wk


@pytest.mark.parametrize(
    "text",
    [
        "import a;",
        "import a::b;",
        "import a :: b;",
        "import a::b::c as d;",
        "import {a, b::c};",
        "import {a::b as c, d::{ e, f::g }, h,};",
        "import package::a;",
        "import package::{a, b};",
        "import super::a;",
        "import super::a::b::{c, d as e};",
        "import package::*;",
        "import a::{b, *};",
        "import a::common::c; // reserved words may be names of modules",
        "import a::b; import a::b;",
        "import a /* nested /* comments */ */ ::b;",
        "import a::b;;; const c = 1;",
        "public import package::a::b;",
        "@diagnostic(off, unsupported_wildcard) import a::*;",
        "@!wildcardable; const a = 1;",
        "@!version(2); const a = 1;",
    ],
)
def test_an_import_of_this_form_is_read(text: str) -> None:
    wk.link({"main.wesl": text, "a.wesl": "const b = 1;", "package.wesl": ""})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import", "1:7: want the name of what is imported, found the end"),
        ("import;", "1:7: want"),
        ("import a", "1:9: want ';'"),
        ("import a\nfn f() { }", "2:1: want ';', found 'fn'"),
        ("import super;", "1:13: want '::'"),
        ("import super::;", "1:15: want"),
        ("import super::super;", "1:20: want '::'"),
        ("import package;", "1:15: want '::'"),
        ("import {};", "1:9: want"),
        ("import {a, {b}};", "1:12: want"),
        ("import {a} as b;", "1:12: want ';', found 'as'"),
        ("import a::{};", "1:12: want"),
        ("import a::b as c::d;", "1:17: want ';', found '::'"),
        ("import a::as::b;", "1:11: want a name"),
        ("import a::super::b;", "1:11: want a name"),
        ("import a::package::b;", "1:11: want a name"),
        ("import self::a;", "1:8: want a name"),
        ("import package::super::a;", "1:17: want a name"),
        ("import a::fn;", "1:11: want the name"),
        ("import *;", "1:8: want"),
        ("import {*};", "1:9: want"),
        ("import a::* as b;", "1:13: want ';'"),
        ("public import a::*;", "1:18: want names"),
        ("import a::b; import c::b;", "1:24: 'b' is given twice; first at main.wesl:1:11."),
        ("import a::b; fn b() { }", "1:17: 'b' is given twice"),
        ("const a = 1; const a = 2;", "1:20: 'a' is given twice; first at main.wesl:1:7."),
        ("fn f() { } import a::b;", "1:12: an import stands before all declarations."),
        ("enable f16; import a::b;", "1:13: an import stands before all directives."),
        ("fn f() { } enable f16;", "1:12: a directive stands before all declarations."),
        ("fn f() { } @!wildcardable;", "1:12: a directive stands before all declarations."),
        ('#include "a.wgsl"', "1:1: #include is not known here; want 'import package::"),
        ("fn f() { a::; }", "1:13: want a name"),
        ("fn f() { super::super(); }", "1:17: want a name behind '::'"),
        ("fn f() { a::super::b(); }", "1:13: want a name"),
        ("fn f() { self::b(); }", "1:10: want a path"),
        ("fn f() { let a::b = 1; }", "1:15: want"),
        ("fn f() { x.a::b(); }", "want"),
        ("fn f( { }", "1:7: want the name of a parameter, found '{'. The ( of line 1"),
        ("fn f() { /* }", "never closed"),
        ("fn f() { let x = ; }\nfn g() { let y = ; }", "1:18: want an expression"),
    ],
)
def test_an_import_of_this_form_is_refused_at_its_place(text: str, said: str) -> None:
    message = refusal({"main.wesl": text})
    assert message.startswith("main.wesl:")
    assert said in message
    assert message.rstrip().endswith("^")
