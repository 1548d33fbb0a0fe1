"""Text that compilers do not survive is refused at its place; what is below the limits runs."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.threads import STACK, in_thread
from wgsl_kernels.backends.webgpu.modules.source import load_text
from wgsl_kernels.wgsl.names import resolve
from wgsl_kernels.wgsl.syntax import limits, parser, printer
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "fn op(x: T) -> T {\n  return "
TAIL = ";\n}\n"
BEYOND = 20 if ALL_MODES else 4
"""How many times as much as a limit allows is tried."""
SMALLEST = 128 << 10
"""Bytes of stack of a thread that may run kernels."""


def _load(text: str) -> None:
    load_text(text, "a.wgsl", Path())


def _value(text: str) -> str:
    return f"{HEAD}{text}{TAIL}"


def _body(text: str) -> str:
    return f"fn op(x: T) -> T {{\n  var y = x;\n  {text}\n  return y;\n}}\n"


def _chain(row: str, count: int, first: str) -> str:
    rows = "".join(row.format(one + 1, one) + "\n" for one in reversed(range(count - 1)))
    return f"{rows}{first}\nfn op(x: T) -> T {{ return x; }}\n"


LEVELS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: _value("(" * n + "x" + ")" * n),
    "minus signs": lambda n: _value("- " * n + "x"),
    "nots": lambda n: _value("select(x, x, " + "!" * (n - 1) + "true)"),
    "calls": lambda n: _value("abs(" * n + "x" + ")" * n),
    "indices": lambda n: _body("var a = array<u32, 2>();") + "fn g(a: u32) { let b = "
    + "array<u32, 2>()[" * n + "0" + "]" * n + "; }\n",
    "members": lambda n: _body(f"y += vec4<f32>(1.0){'.xyzw' * (n - 1)}.x - 1.0;"),
    "minus and parentheses": lambda n: _value("-(" * (n // 2) + "x" + ")" * (n // 2)),
    "right-leaning sums": lambda n: _value("x - (" * n + "x" + ")" * n),
    "conditions": lambda n: _body(f"if ({'(' * (n - 2)}x > T(0){')' * (n - 2)}) {{ y = x; }}"),
    "sizes": lambda n: f"const A = {'(' * n}1{')' * n};\n" + _value("x"),
    "attributes": lambda n: _value("x") + "@workgroup_size(" + "(" * (n - 1) + "1" + ")" * n
    + " @compute fn main() { }\n",
    "text that is not understood": lambda n: "fn g() { what is " + "(" * n + ")" * n + " }\n"
    + _value("x"),
}  # fmt: skip
OTHERS: dict[str, tuple[int, Callable[[int], str], str]] = {
    "sums": (limits.OPERANDS, lambda n: _value(" + ".join(["x"] * n)), "more than 1000 operands"),
    "constant sums": (limits.OPERANDS, lambda n: f"const A = {'+'.join('1' * n)};\n" + _value("x"),
                      "more than 1000 operands"),
    "sums in sums": (limits.OPERANDS, lambda n: _value(
        "(" * 4 + " + ".join(["x"] * (n // 2)) + ")" * 4 + " + x" * (n // 2)
    ), "more than 1000 operands"),
    "conjunctions": (limits.OPERANDS, lambda n: _value(
        f"select(x, x, {' && '.join(['true'] * n)})"
    ), "more than 1000 operands"),
    "else-ifs": (limits.ELSE_IFS, lambda n: _body(
        "if (x > T(1)) { y = x; }" + " else if (x > T(2)) { y = x; }" * n
    ), "more than 500 else-ifs"),
    "blocks": (limits.BRACES, lambda n: _body("{" * (n - 1) + "}" * (n - 1)), "more than 127"),
    "ifs": (limits.BRACES, lambda n: _body("if (true) {" * (n - 1) + "}" * (n - 1)),
            "more than 127"),
    "loops": (limits.BRACES, lambda n: _body("loop { break; {" * (n // 2) + "}}" * (n // 2)),
              "more than 127"),
    "switches": (limits.BRACES, lambda n: _body(
        "switch (1) { default: {" * (n // 2) + "}}" * (n // 2)
    ), "more than 127"),
    "array types": (limits.TYPES, lambda n: _body(
        f"var a: {'array<' * n}f32{', 1>' * n};"
    ), "nested more than 100 levels"),
    "lists": (limits.LIST, lambda n: "const A = array(" + ",".join("1" * n) + ");\n" + _value("x"),
              "longer than 16000"),
    "parameters": (limits.LIST, lambda n: "fn g(" + ",".join(f"a{i}: f32" for i in range(n))
                   + ") { }\n" + _value("x"), "longer than 16000"),
    "cases": (limits.SELECTORS, lambda n: _body(
        "switch (1) {" + "".join(f" case {i}: {{ }}" for i in range(n)) + " default: { } }"
    ), "more than 1023 case selectors"),
    "statements": (limits.STATEMENTS - 2, lambda n: _body("y += x;\n" * n), "more than 4096 state"),
    "ifs in a row": (limits.STATEMENTS // 2 - 1, lambda n: _body("if (x > y) { y = x; }\n" * n),
                     "more than 4096 statements"),
    "calls in a row": (limits.CALLS, lambda n: "fn g() { }\n" + _body("h();\n" * ((n - 1) // 100))
                       + f"fn h() {{ {'g(); ' * 99} }}\n", "comes to more than 10000 calls"),
    "comments": (limits.COMMENTS, lambda n: "/*" * n + "*/" * n + _value("x"), "comment is nested"),
    "constants": (limits.DECLARATIONS, lambda n: _chain(
        "const c{} = c{};", n, "const c0 = 1;"
    ), "more than 1000 declarations"),
    "functions": (limits.DECLARATIONS, lambda n: _chain(
        "fn g{}() {{ g{}(); }}", n, "fn g0() { }"
    ), "more than 1000 declarations"),
    "structs": (limits.TYPES, lambda n: _chain(
        "struct S{} {{ a: S{} }}", n, "struct S0 { a: f32 }"
    ), "more than 100 types"),
    "aliases": (limits.TYPES, lambda n: _chain(
        "alias A{} = A{};", n, "alias A0 = f32;"
    ), "more than 100 types"),
}  # fmt: skip


@pytest.mark.parametrize("what", LEVELS)
def test_levels_beyond_the_limit_are_refused_at_their_place(what: str) -> None:
    _load(LEVELS[what](limits.LEVELS))
    for count in (limits.LEVELS + 2, 5_000, 100_000):
        with pytest.raises(
            wk.ShaderError, match=r"a\.wgsl:\d+:\d+: .*more than 500 levels"
        ) as caught:
            _load(LEVELS[what](count))
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("what", OTHERS)
def test_other_limits_are_refused_at_their_place(what: str) -> None:
    limit, text, words = OTHERS[what]
    _load(text(limit))
    for count in (limit + 2, BEYOND * limit):
        with pytest.raises(wk.ShaderError, match=r"a\.wgsl:\d+:\d+: ") as caught:
            _load(text(count))
        assert words in str(caught.value)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("count", [14, 30, 900])
def test_functions_that_call_each_other_twice_are_refused(count: int) -> None:
    """Compilers write out each call: 2^count of them."""
    twice = "".join(
        f"fn g{one}(x: f32) -> f32 {{ return g{one - 1}(g{one - 1} (x)); }}\n"
        for one in range(1, count)
    )
    with pytest.raises(wk.ShaderError, match=r"a\.wgsl:14:4: a call of this comes to more than"):
        _load(f"fn g0(x: f32) -> f32 {{ return x; }}\n{twice}{_value('x')}")


def test_selectors_are_counted_of_each_switch() -> None:
    switch = "switch (1) { case " + ", ".join(map(str, range(1000))) + ",: { } default: { } }\n"
    _load(_body(switch * 3))
    with pytest.raises(wk.ShaderError, match="more than 1023 case selectors"):
        _load(_body(switch.replace("default", "case " + ", ".join(map(str, range(2000, 2030))))))


def test_a_list_of_many_sums_is_no_long_expression() -> None:
    rows = ", ".join(["vec2<f32>(1.0 + 2.0, -(3.0 * 4.0))"] * 2000)
    _load(f"const A = array({rows});\n" + _value("x"))


@pytest.mark.parametrize("what", LEVELS)
def test_deep_text_is_printed_and_resolved_without_pythons_stack(what: str) -> None:
    source = Text("a.wgsl", LEVELS[what](limits.LEVELS))
    module = parser.parse(source)
    again = parser.parse(Text("b.wgsl", printer.print_module(module).composed.text))
    ours, theirs = resolve.resolve(source), resolve.resolve(again.text)
    assert module.is_whole == (what != "text that is not understood")
    assert [one.ident.name for one in ours.uses] == [one.ident.name for one in theirs.uses]


RUNNING: dict[str, tuple[Callable[[int], str], int, float]] = {
    "parentheses": (lambda n: "(" * n + "x" + ")" * n, 500, 1.0),
    "minus signs": (lambda n: "- " * n + "x", 500, 1.0),
    "calls": (lambda n: "abs(" * n + "x" + ")" * n, 500, 1.0),
    "sums": (lambda n: " + ".join(["x"] * n), 1000, 1000.0),
    "selections": (lambda n: "select(x, " * n + "x" + ", x > T(0))" * n, 499, 1.0),
}


@pytest.mark.gpu
@pytest.mark.parametrize("what", RUNNING)
@pytest.mark.parametrize("fusion", ["never", "always"])
def test_text_at_the_limits_runs_in_a_thread_with_a_small_stack(what: str, fusion: Any) -> None:
    make, count, expected = RUNNING[what]
    found: list[Any] = []

    def run() -> None:
        x = wk.ones((3,))
        with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
            y = wk.engine().run_kernel("Deep", {"x": x * 1.0})
            assert isinstance(y, wk.Tensor)
            found.append((y + 0.0).numpy())
            fast = wk.capture(lambda x: wk.engine().run_kernel("Deep", {"x": x}))
            found.append(fast(x).numpy())

    wk.wgsl_kernel("Deep", _value(make(count)), override=True)
    before = threading.stack_size(SMALLEST)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        wk.unregister_kernel("Deep", "webgpu")
    assert len(found) == 2
    for one in found:
        np.testing.assert_array_equal(one, np.full(3, expected, np.float32))


@pytest.mark.gpu
def test_what_killed_the_process_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import wgsl_kernels as wk\n"
        "wk.set_backend('webgpu')\n"
        "for text in (\n"
        "    '('*5000 + 'x' + ')'*5000, '- '*20000 + 'x',\n"
        "    '+'.join(['x']*50000), 'u32('*3000 + '1' + ')'*3000,\n"
        "):\n"
        "    text = f'fn op(x: f32) -> f32 {{\\n return {text};\\n}}\\n'\n"
        "    wk.wgsl_kernel('K', text, override=True)\n"
        "    try:\n"
        "        wk.engine().run_kernel('K', {'x': wk.ones((8,))}, {}).numpy()\n"
        "    except wk.ShaderError as error:\n"
        "        print('refused', flush=True)\n"
        "    print(wk.exp(wk.zeros((1,))).tolist(), flush=True)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "refused\n[1.0]\n" * 4


def test_compilers_get_a_large_stack_whatever_the_thread_has() -> None:
    seen: list[int] = []
    empty: dict[str, int] = {}
    before = threading.stack_size()

    def call() -> int:
        seen.append(threading.get_ident())
        return 7

    assert in_thread(call) == 7
    assert seen != [threading.get_ident()]
    assert threading.stack_size() == before
    assert STACK >= 32 << 20
    with pytest.raises(KeyError, match="gone"):
        in_thread(lambda: empty["gone"])
    assert threading.stack_size() == before


CIRCLES = {
    "struct S { a: S }": "'S' needs itself, which WGSL does not allow: S -> S.",
    "struct A { b: B }\nstruct B { a: array<A, 2> }": "A -> B -> A.",
    "alias A = B;\nalias B = A;": "A -> B -> A.",
    "const a = b + 1;\nconst b = a;": "a -> b -> a.",
    "fn f() { g(); }\nfn g() { f(); }": "f -> g -> f.",
    "const n = 2 * m;\nalias A = array<f32, n>;\nconst m = u32(A());": "-> ",
    "struct Attrs { a: Attrs }": "Attrs -> Attrs.",
}


@pytest.mark.parametrize("text", CIRCLES)
def test_a_declaration_that_needs_itself_is_refused(text: str) -> None:
    with pytest.raises(wk.ShaderError, match=r"a\.wgsl:\d+:\d+: '\w+' needs itself") as caught:
        _load(f"{text}\n{_value('x')}")
    assert CIRCLES[text] in str(caught.value)


@pytest.mark.gpu
def test_constants_that_double_are_computed_once_each() -> None:
    rows = "".join(f"const c{i + 1} = c{i} + c{i} - c{i};\n" for i in range(60))
    text = f"const c0 = 64u;\n{rows}" + (
        "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
        "@compute @workgroup_size(c60)\n"
        "fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
        "  if (id.x < arrayLength(&y)) { y[id.x] = 1.0; }\n}\n"
    )
    wk.signature("Doubling", override=True)(lambda x, /: x.like())
    wk.wgsl_kernel("Doubling", text, override=True)
    try:
        with wk.use_backend("webgpu"):
            y = wk.engine().run_kernel("Doubling", {"x": wk.zeros((70,))})
            assert isinstance(y, wk.Tensor)
            assert y.numpy().tolist() == [1.0] * 70
    finally:
        wk.unregister_kernel("Doubling", "webgpu")
