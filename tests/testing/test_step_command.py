"""``wgsl-kernels step``: what it is given, what it prints, and the keys of the terminal."""

import functools
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.testing.commands import run

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.declare.variants import declare, size_class
from wgsl_kernels.bench.stepping.calls import Wanted, case_named, stepped_case, what_else
from wgsl_kernels.cli.stepping import Browser
from wgsl_kernels.testing import Sample
from wgsl_kernels.testing.stepping.text import lines_of

FILE = '''
import wgsl_kernels as wk

wk.wgsl_kernel(
    "Soft",
    """
    fn op(x: T) -> T {
      let below = 1.0 - abs(x);
      return x / below;
    }
    """,
)


@wk.signature("Soft")
def _signature(x, /):
    return x.like()


@wk.cpu_kernel("Soft")
def _cpu(x):
    return x / (1 + abs(x))


def soft(x):
    return wk.engine().run_kernel("Soft", {"x": x})


def two():
    return soft(wk.tensor([[1.5, 2.0], [3.0, 4.0]])).sum()


wk.testing.add_samples("Soft", wk.testing.Sample("Soft", soft, ((3, 5),), low=1.5, high=3.0))
'''
WRONG = "let below = 1.0 - abs(x)"


@pytest.fixture
def file(tmp_path: Path, as_before: None) -> Path:
    found = tmp_path / "my_ops.py"
    found.write_text(FILE)
    return found


@pytest.mark.parametrize("named", ["{0}", "{0}:Soft", "{0} Soft", "{0} Soft 4x6"])
def test_a_kernel_of_a_file_is_stepped_through(named: str, file: Path) -> None:
    result = run("step", *named.format(file).split(), "--at", "y[1,2]")

    assert result.exit_code == 0, result.output
    assert result.output.startswith("Soft: workgroup 0, invocation ")
    assert "y[1, 2] = " in result.output
    assert "right is " in result.output
    (line,) = (one for one in result.output.splitlines() if WRONG in one)
    assert line.split()[0] == "8"  # of the Python file
    assert "my_ops.py, op\n" in result.output


def test_a_finding_of_check_names_the_command_that_steps_there(file: Path) -> None:
    found = json.loads(run("check", file, "--section", "right", "--json").output)
    (command,) = (one["evidence"]["step"] for one in found["findings"])
    words = command.replace("'", "").split("wgsl-kernels step ")[1]
    target, kernel, rest = words.split(" ", 2)
    case, at = rest.removeprefix("--case ").split(" --at ")
    result = run("step", target, kernel, "--case", case, "--at", at)

    assert (target, kernel) == (str(file), "Soft")
    assert WRONG in result.output
    got = found["findings"][0]["evidence"]["got"]
    assert f"= {float(got):.9g}" in result.output


PLUS = """
override MORE: u32 = 0u;
struct Params { x_shape: vec2<u32>, x_strides: vec2<u32>, x_offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  let at = vec2(i / params.x_shape[1], i % params.x_shape[1]);
  if (at[0] < params.x_shape[0]) {
    y[i] = x[dot(at, params.x_strides) + params.x_offset] + f32(MORE + params.x_offset + id.y);
  }
}
"""


@pytest.mark.parametrize(
    ("what", "off"),
    [((), 0), (("plain",), 0), (("more",), 1), (("folded",), 1), (("more", "folded"), 2),
     (("offset",), 2)],
)  # fmt: skip
def test_a_case_is_stepped_through_as_the_check_ran_it(
    what: tuple[str, ...], off: int, own_kernels: None
) -> None:
    declare("Plus", ("plain", "more"))
    wk.register_kernel("Plus", "cpu", lambda x: x * 1, signature=lambda x, /: x.like())

    @wk.wgsl_kernel("Plus", dtypes=("float32",))
    def plus(gpu: Any, x: Any) -> Any:
        def run(name: str) -> Any:
            y = gpu.empty(x.shape, x.dtype)
            given = {"MORE": int(name == "more")}
            gpu.dispatch(PLUS, {"x": x, "y": y}, groups=gpu.grid(x.size, 64), constants=given)
            return y

        return run(gpu.choose((size_class(x.size),), ("plain", "more"), "plain", run, x.size))

    tried = Sample("Plus", functools.partial(wk.run, "Plus"), ((70, 2),), low=0, high=0.25)
    name = ", ".join(("Plus-70x2/sample", *what, "webgpu"))
    case = case_named([tried], name)
    trace = stepped_case(case, Wanted("[69,1]"), what_else(case, name))

    assert isinstance(trace.got, float)
    assert round(trace.got - float(case.arrays[0][69, 1])) == off


def test_a_configuration_that_a_kernel_has_not_is_refused(file: Path) -> None:
    result = run("step", file, "--case", "Soft-3x5/sample, GROUP=32, webgpu")

    assert result.exit_code == 2
    assert "names the configuration 'GROUP=32'; Soft has: none." in result.output


def test_without_an_element_a_wrong_one_is_taken(file: Path) -> None:
    result = json.loads(run("step", file, "--json").output)

    assert result["target"].startswith("y[")
    assert [one["text"] for one in result["steps"] if one["own"]] == [
        "fn op(x: T) -> T",
        WRONG,
        "return x / below",
    ]


def test_a_function_of_several_kernels_says_which_dispatch_it_is(file: Path) -> None:
    result = run("step", file, "two", "--dispatch", "1", "--invocation", "0")

    assert "Soft: workgroup 0, invocation 0 of it, dispatch 1 of 2" in result.output
    assert WRONG in result.output


def test_a_shader_file_and_a_kernel_of_the_package_are_stepped_through(
    tmp_path: Path, as_before: None
) -> None:
    shader = tmp_path / "twice.wgsl"
    shader.write_text("fn op(x: T) -> T {\n  return x * 2.0; // twice\n}\n")

    for given in ((shader,), (shader, "70"), ("Square",), ("Square", "3x4", "--at", "y[2,3]")):
        result = run("step", *given)
        assert result.exit_code == 0, result.output
        assert "return x * " in result.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("nope.wgsl",), "step: there is no file nope.wgsl."),
        (("nope.py",), "step: there is no file nope.py."),
        (("Nope",), "step: there is no kernel 'Nope' on the webgpu backend."),
        (("Square", "4y"), "step: '4y' is no shape; want sizes, as 64x32, or scalar."),
        (("Square", "--invocation", "a"), "step: --invocation is 'a'; want numbers along x, y and"),
        (("Square", "--case", "nope"), "step: --case is 'nope'; there are: Square-2x3/sample,"),
        (
            ("Square", "--at", "y[0]", "--dispatch", "1"),
            "step: --at is given beside an invocation; want one of them.",
        ),
    ],
)
def test_a_wrong_call_says_what_is_wanted(
    given: tuple[str, ...], message: str, as_before: None
) -> None:
    result = run("step", *given)

    assert result.exit_code == 2
    assert message in result.output


def test_keys_go_forwards_and_backwards_and_to_the_marks() -> None:
    x = wk.tensor([1.0, 100.0])
    wk.wgsl_kernel("Steep", "fn op(x: T) -> T {\n  let e = exp(x);\n  return e / (e + 1.0);\n}\n")
    wk.signature("Steep")(lambda x, /: x.like())
    trace = wk.dev.step(lambda x: wk.engine().run_kernel("Steep", {"x": x}), x, at="y[1]")
    browser = Browser(trace)
    first = browser.at

    assert browser.steps[first] == trace.first
    assert browser.press("right")
    assert browser.at == first + 1
    assert browser.press("left")
    assert browser.press("p")
    assert browser.at == first - 1
    assert browser.press("G")
    assert browser.at == len(browser.steps) - 1
    assert browser.press("n")
    assert browser.at == len(browser.steps) - 1
    assert browser.press("f")
    assert browser.at == first
    assert browser.press("g")
    assert browser.at == 0
    assert not browser.press("q")
    shown = {one.step for one in lines_of(trace)} - {None}
    assert set(browser.steps) == shown


def test_a_terminal_shows_the_steps_until_q_is_pressed() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-W", "error", "-m", "wgsl_kernels", "step", "Square"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen = _seen_until(ours, b"q: leave")
        os.write(ours, b"n\x1b[Dq")
        seen += _seen_until(ours, b"\x1b[?1049l")  # the screen is as it was
        assert process.wait(20) == 0, seen.decode()
    os.close(ours)

    assert b"q: leave" in seen
    assert b"return x * x" in seen


def _seen_until(terminal: int, wanted: bytes) -> bytes:
    """Return what a terminal shows up to something, which comes within some seconds."""
    seen = b""
    while wanted not in seen:
        assert select.select([terminal], [], [], 30)[0], seen.decode()
        seen += os.read(terminal, 1 << 16)
    return seen
