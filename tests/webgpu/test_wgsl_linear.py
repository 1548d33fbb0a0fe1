"""Reading, composing and explaining take time linear in the length of a text."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from wgsl_kernels.backends.webgpu.composing.compose import compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.linking.conditions import translate
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.lint.sizes import may_be_large
from wgsl_kernels.wgsl.syntax.places import Span, Text
from wgsl_kernels.wgsl.syntax.source_map import Edit, TextBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

OP = "fn op(x: T) -> T {\n  return g1(x);\n}\n"
FUNCTIONS = "fn g{0}(x: T) -> T {{ let a = x; return a + T({0}); }}\n"
TEXTS: dict[str, tuple[str, str]] = {
    "functions": (FUNCTIONS, OP),
    "functions that are called": (
        "fn g{0}(x: T) -> T {{ return x; }}\nfn h{0}(x: T) -> T {{ return g{0}(x); }}\n",
        OP,
    ),
    "unknown names": ("fn g{0}(x: T) -> T {{ let a = x; return a + n{0}; }}\n", OP),
    "declarations": (
        "struct S{0} {{ a: f32 }}\nconst c{0} = {0}u;\nalias A{0} = f32;\n",
        "fn op(x: T) -> T { return x; }\n",
    ),
    "locals": ("", "fn op(x: T) -> T {{\n{0}  return a1;\n}}\n"),
    "loops": ("", "fn op(x: T) -> T {{\n  for (;;) {{\n{1}  }}\n  return x;\n}}\n"),
    "else-ifs": ("", "fn op(x: T) -> T {{\n  if (true) {{ }}{2}\n  return x;\n}}\n"),
    "operands": ("", "fn op(x: T) -> T {{\n  return {3};\n}}\n"),
}


def _text(what: str, count: int) -> str:
    row, end = TEXTS[what]
    rows = "".join(row.format(one) for one in range(count))
    inner = (
        "".join(f"  let a{one} = x + b{one};\n" for one in range(count)),
        "".join(f"    var a{one}: T;\n" for one in range(count)),
        "".join(" else if (true) { }" for _ in range(count)),
        " + ".join(["x"] * count),
    )
    return rows + (end.format(*inner) if not row else end)


def _lines(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs."""
    count = 0

    def trace(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def _work(what: str, count: int) -> int:
    """Return the lines that it takes to read and compose a text, and to explain an error in it."""
    text = _text(what, count)
    x, y = Operand("x", "float32", 1), Operand("y", "float32", 1)

    def run() -> None:
        with contextlib.suppress(ShaderError):  # a name that nobody declares
            composed = compose("K", load_text(text, "a.wgsl", Path()), [x], [y])
            composed.explain("wgsl:1:40: error")

    return _lines(run)


@pytest.mark.parametrize("what", TEXTS)
def test_twice_the_text_takes_twice_the_work(what: str) -> None:
    _work(what, 3)  # reads the skeleton
    assert _work(what, 400) < 2.2 * _work(what, 200)


def test_a_chain_of_conditions_is_linear() -> None:
    def linked(count: int) -> int:
        names = [f"C{one}" for one in range(count)]
        rows = [f"@elif({name})\nconst value = {n};\n" for n, name in enumerate(names)]
        text = "".join(rows).replace("@elif", "@if", 1) + "@else\nconst value = -1;\n"
        source = parse_source(Text("a.wesl", text))

        def run() -> None:
            parse_source(Text("a.wesl", text))
            for chosen in (names[-1], "none"):
                module, _ = translate(source, {name: name == chosen for name in names})
                (one,) = module.declarations
                kept = text[one.begin : one.end]
                assert kept == f"const value = {count - 1 if chosen != 'none' else -1};"

        return _lines(run)

    linked(2)
    assert linked(400) < 2.2 * linked(200)


def test_quoting_many_pieces_of_a_file_with_many_edits_is_linear() -> None:
    def quoted(count: int) -> int:
        source = Text("a.wgsl", "".join(f"const a{one:05} = 1;\n" for one in range(count)))
        begins = [one * 18 for one in range(count)]
        edits = [Edit(Span(begin + 6, begin + 12), "b") for begin in begins]

        def run() -> None:
            text = TextBuilder()
            for begin in begins:
                text.quote(source, Span(begin, begin + 17), edits)
            assert text.finish().composed.text == "const b = 1;" * count

        return _lines(run)

    quoted(2)
    assert quoted(600) < 2.2 * quoted(300)


@pytest.mark.parametrize(
    "repeated",
    ["\n", " \n", "\t", "// array<\n", "/* var<storage */", "// import a\n", "/*::*/ "],
)
def test_regular_expressions_cross_a_text_once(repeated: str) -> None:
    text = repeated * 20_000 + "fn op(x: f32) -> f32 { return x; }\n"

    began = time.process_time()
    source = load_text(text, "long", Path())
    may_be_large(text)

    assert source.functions
    assert time.process_time() - began < 1.0  # blank lines took 7 s, each other line that long
