"""Damaged modules: linked, or refused at a place; nothing else happens."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgsl_kernels as wk

WHOLE = {
    "main.wesl": """
import package::a::{b, c as d}; @if(x) import super::a::T; @else import nowhere::T;
public import package::a::run; import package::a::*;
@!wildcardable; enable f16; @if(y) enable subgroups;
fn f(@if(x) a: u32, @else b: u32) -> T {
  @if(x && !y) let e = 1.0; @elif(y) { } @else return package::a::c(b);
  switch a { @if(y) case 1: { } @else case b: { } default { } }
  for (var i = 0u; i < d(a); i++) { package::a::touch(); }
  return T(e) * super::a::half(e);
}
struct S { @if(x) a: u32, b: f32, }
override o: vec2<package::a::T> = vec2(1, 2);
""",
    "a.wesl": """
@if(x) const b = 1; @else const b = 2;
public fn c(b: u32) -> u32 { return b; }
private var<private> hidden: f32;
fn touch() { hidden += 1.0; }
fn half(x: f32) -> f32 { touch(); return 0.5 * x; }
@compute @workgroup_size(b) fn run() { package::main::f(1u); }
alias T = f32; const_assert b > 0;
""",
}
MARKS = [*"@;:,(){}<>.*&=", "::", "super", "package::", "@if(", "@else", "import", "as", "public"]
MARKS += ["fn", "let", "\n", "/* c */", "// c\n", "/*", "\0", "é", "#include", "0x", "1.", "\t"]
WORDS = [*MARKS, *"".join(WHOLE.values()).split()]


def _link(modules: dict[str, str]) -> None:
    try:
        linked = wk.link(modules, conditions={"x": True, "y": False})
    except wk.ShaderError as error:
        file, line, column = str(error).split(":")[:3]
        assert file in modules
        assert int(line) <= modules[file].count("\n") + 1
        assert int(column) >= 1
    else:
        assert wk.link({"main.wgsl": linked.text}).text == linked.text


def test_the_whole_project_is_linked() -> None:
    text = wk.link(WHOLE, conditions={"x": True, "y": False}).text
    assert "fn run()" in text
    assert wk.link({"main.wgsl": text}).text == text


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.lists(st.sampled_from(WORDS), max_size=20))
def test_any_words_are_linked_or_refused_with_a_place(main: list[str], a: list[str]) -> None:
    _link({"main.wesl": " ".join(main), "a.wesl": " ".join(a)})


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_project_is_linked_or_refused_with_a_place(seed: int) -> None:
    rng = random.Random(seed)
    modules = {}
    for file, text in WHOLE.items():
        for _ in range(rng.randint(0, 2)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["", *MARKS]) + text[at + rng.randint(0, 3) :]
        modules[file] = text
    _link(modules)
