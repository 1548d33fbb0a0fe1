"""Ten times the text takes at most twelve times the time, right text or wrong, at every stage."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.wgsl.linking.linker import link_modules
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.lint.sizes import may_be_large
from wgsl_kernels.wgsl.specialize.module import specialize
from wgsl_kernels.wgsl.syntax import limits
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 60
_numbers = itertools.count()


def _rows(row: str, count: int, join: str = "\n") -> str:
    return join.join(row.format(one, one + 1) for one in range(count))


def _op(body: str) -> str:
    return f"fn op(x: f32) -> f32 {{\n  var y = x;\n{body}\n  return y;\n}}\n"


OP = _op("")
INSIDE = {
    "blanks": lambda n: " \n" * 10 * n,
    "comments": lambda n: "/* a */ // @unroll\n" * 5 * n,
    "lets": lambda n: _rows("let a{0} = x + {0}.0;", n),
    "known lets": lambda n: "let a0 = 1;\n" + _rows("let a{1} = a{0} + 1;", n),
    "declarations of one name": lambda n: _rows("let a = x;", n),
    "assignments": lambda n: _rows("y = y * {0}.0;", n),
    "ifs": lambda n: _rows("if (x > {0}.0) {{ y = x; }}", n),
    "returns": lambda n: _rows("if (x > {0}.0) {{ return y; }}", n),
    "nested blocks": lambda n: "{" * (n // 6) + "y = x;" + "}" * (n // 6),
    "nested ifs": lambda n: "if (x < 1.0) {" * (n // 6) + "y = x;" + "}" * (n // 6),
    "nested loops": lambda n: "for (var i = 0; i < 2; i++) {" * (n // 6) + "}" * (n // 6),
    "else-ifs": lambda n: "if (x > 1.0) { }" + " else if (x > 2.0) { y = x; }" * (n // 2),
    "cases": lambda n: f"switch (1) {{ {_rows('case {0}: {{ y = 1.0; }}', n)} default: {{ }} }}",
    "selectors": lambda n: f"switch (i32(x)) {{ case {_rows('{0}', n, ',')}, default: {{ }} }}",
    "loops": lambda n: _rows("for (var i = 0; i < 3; i++) {{ y += 1.0; }}", n),
    "unrolled loops": lambda n: _rows(
        "for (var i = 0; i < 3; i++) {{ // @unroll\n y += f32(i); }}", n
    ),
    "operands": lambda n: f"y = {' + '.join(['x'] * n)};",
    "known operands": lambda n: f"y = f32({' + '.join(['1'] * n)});",
    "parentheses": lambda n: f"y = {'(' * (n // 2)}x{')' * (n // 2)};",
    "nested calls": lambda n: f"y = {'abs(' * (n // 4)}x{')' * (n // 4)};",
    "nested choices": lambda n: f"y = {'select(' * (n // 4)}x{', 1, true)' * (n // 4)};",
    "nested chosen": lambda n: f"y = {'select(1.0, ' * (n // 4)}x{', true)' * (n // 4)};",
    "nested conditions": lambda n: f"y = {'select(x, 1, ' * (n // 4)}x{')' * (n // 4)};",
    "calls of builtins": lambda n: _rows("y = select(x, y, x < 1.0);", n),
    "arguments": lambda n: f"y = vec4<f32>({','.join(['x'] * n)}).x;",
    "comparisons": lambda n: f"y = g({'a < b,' * n} c);",
    "prefixes": lambda n: f"y = {'- ' * (n // 2)}x;",
    "members": lambda n: f"y = vec4<f32>(x){'.xyzw' * (n // 2)}.x;",
    "type lists": lambda n: f"var a: {'array<' * n}f32{', 1>' * n};",
    "attributes": lambda n: "@a(1, 2) " * n + "{ }",
    "unknown names": lambda n: _rows("y += nothing{0};", n),
    "unknown functions": lambda n: _rows("y += nothing{0}(x);", n),
    "unknown types": lambda n: _rows("var a{0}: Nothing{0};", n),
    "unknown members": lambda n: _rows("y += attrs.a{0};", n),
    "assertions": lambda n: _rows("const_assert {0} < {1};", n),
    "semicolons": lambda n: ";" * 5 * n,
    "long names": lambda n: f"let {'a' * 100 * n} = x; y = {'a' * 100 * n} ;",
    "long numbers": lambda n: f"y = 1.{'1' * 50 * n}; let z = {'1' * 50 * n};",
    "garbage": lambda n: "what is this; " * n,
    "paths": lambda n: "y = a::b(x);" * n,
}  # fmt: skip
BESIDE = {
    "blanks": lambda n: "\n \t" * 10 * n,
    "an open comment": lambda n: "/* " * 5 * n,
    "functions": lambda n: _rows("fn g{0}(x: f32) -> f32 {{ return x; }}", n),
    "functions of one name": lambda n: _rows("fn g(x: f32) -> f32 {{ return x; }}", n),
    "functions that call": lambda n: "fn g0() { }\n" + _rows("fn g{1}() {{ g{0}(); }}", n),
    "calls": lambda n: "fn g(x: f32) -> f32 { return x; }\n" + _op(_rows("y = g(y);", n)),
    "calls of many": lambda n: _rows("fn g{0}() {{ }}", n) + _op(_rows("g{0}();", n)),
    "parameters": lambda n: f"fn g({_rows('a{0}: f32', n, ', ')}) {{ }}\n",
    "structs": lambda n: _rows("struct S{0} {{ a: f32 }}", n),
    "fields": lambda n: f"struct Attrs {{ {_rows('a{0}: f32', n, ', ')} }}\n",
    "constants": lambda n: _rows("const a{0} = {0};", n),
    "constants of constants": lambda n: _rows("const a{0} = a{1} + a{1};", n) + f"const a{n} = 1;",
    "aliases of aliases": lambda n: "alias A0 = f32;\n" + _rows("alias A{1} = A{0};", n),
    "variables": lambda n: _rows("var<private> a{0}: array<f32, 4>;", n),
    "what functions write": lambda n: "var<private> p: f32;\nfn g0() { p = 1.0; }\n"
    + _rows("fn g{1}() {{ g{0}(); p = 2.0; }}", n),
    "attributes": lambda n: "@a(1, 2) " * n,
    "directives": lambda n: "diagnostic(off, a.b);\n" * n,
    "imports": lambda n: _rows("import wgsl_kernels::prelude::a{0};", n),
    "lists of imports": lambda n: f"import wgsl_kernels::prelude::{{{_rows('a{0}', n, ', ')}}};\n",
    "nested imports": lambda n: f"import a::{'{b::' * n}c{'}' * n};\n",
    "conditions": lambda n: _rows("@if(a{0}) const b{0} = 1;", n),
    "chains of conditions": lambda n: "@if(a) const b = 1;\n"
    + _rows("@elif(a{0}) const b = 1;", n),
    "garbage": lambda n: "what is this " * n,
    "broken functions": lambda n: _rows("fn g{0}() {{ what is }}", n),
    "brackets": lambda n: "([{" * n,
    "closing brackets": lambda n: "} " * n,
    "strings": lambda n: "\"it's\" " * n,
    "foreign letters": lambda n: "é\\$\0" * 5 * n,
}  # fmt: skip
TEXTS: dict[str, tuple[Callable[[int], str], bool]] = {
    **{f"{name} in a function": (make, True) for name, make in INSIDE.items()},
    **{f"{name} beside one": (make, False) for name, make in BESIDE.items()},
}


def _text(what: str, count: int) -> str:
    make, is_inside = TEXTS[what]
    return _op(make(count)) if is_inside else f"{make(count)}\n{OP}"


def _front_end(text: str) -> None:
    """Take a text through all that stands before a compiler, each stage whatever the others say."""
    with contextlib.suppress(wk.ShaderError):
        source = load_text(text, "a.wgsl", Path())
        composed = compose("K", source, [Operand("x", "float32", 1)], [Operand("y", "float32", 1)])
        composed.explain("wgsl:1:40: error")
    may_be_large(text)
    for check in (diagnose, lint):
        with contextlib.suppress(wk.ShaderError):
            check(Text("a.wgsl", text))
    with contextlib.suppress(wk.ShaderError):
        specialize(link_modules({"main.wesl": text}, "main", {}, {}, {}, "clash"), {}).write()


def _time(text: str) -> float:
    text += f"// {next(_numbers)}\n"  # which nothing has read before
    began = time.process_time()
    _front_end(text)
    return time.process_time() - began


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("what", TEXTS)
def test_ten_times_the_text_takes_at_most_twelve_times_the_time(what: str) -> None:
    small, large = _text(what, COUNT), _text(what, 10 * COUNT)
    _front_end(OP)
    of_small = of_large = float("inf")
    gc.disable()
    try:
        for _ in range(12):  # a busy machine makes some of them slow
            of_small, of_large = min(of_small, _time(small)), min(of_large, _time(large))
            if of_large <= 12 * of_small:
                break
    finally:
        gc.enable()
    assert of_large <= 12 * of_small


@pytest.mark.parametrize(
    "text",
    [
        _op(f"let {'a' * (limits.WORD + 1)} = x;"),
        _op(f"y = {'1' * 5000};"),
        f"@group({'1' * 5000}) var<storage> a: array<f32, {'1' * 5000}>;\n{OP}",
    ],
)
def test_names_and_numbers_that_are_too_long_are_refused(text: str) -> None:
    _front_end(f"// array<f32, {'1' * 5000}>\n{OP}")
    with pytest.raises(wk.ShaderError, match=r"a\.wgsl:\d:\d+: this is longer than 1000 char"):
        load_text(text, "a.wgsl", Path())


def test_what_is_too_deep_for_the_specialiser_is_refused() -> None:
    text = _op(f"y = {'abs(' * limits.LEVELS}x{')' * limits.LEVELS};")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # Python's own, which libraries change
    try:
        with pytest.raises(wk.ShaderError, match=r"main\.wesl:1:1: this is nested too deep"):
            specialize(link_modules({"main.wesl": text}, "main", {}, {}, {}, "clash"), {})
    finally:
        sys.setrecursionlimit(before)


def test_rounds_of_empty_loops_count_as_statements() -> None:
    loop = "for (var {0}{0} = 0; {0}{0} < 256; {0}{0}++) {{ // @unroll\n"
    loops = "".join(map(loop.format, "abcd")) + "}" * 4
    began = time.process_time()
    with pytest.raises(wk.ShaderError, match="more than 4096 statements once this is unrolled"):
        specialize(link_modules({"main.wesl": _op(loops)}, "main", {}, {}, {}, "clash"), {})
    assert time.process_time() - began < 2.0  # 2^32 rounds


@pytest.mark.parametrize("text", ["}", "} , " * 1100, "fn f() { } } } import a::b;"])
def test_a_brace_that_closes_nothing_is_refused(text: str) -> None:
    with pytest.raises(wk.ShaderError, match=r"a\.wgsl:1:\d+: .*closes nothing"):
        load_text(f"{text}\n", "a.wgsl", Path())
