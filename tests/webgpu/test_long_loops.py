"""Loops of users' kernels that Mesa's software adapters end after 65,535 rounds are reported."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import GPU, SOFTWARE
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.wgsl.lint.loops import CHECK

FREE = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

struct Params { x_size: u32 }

@group(0) @binding(2) var<uniform> params: Params;

fn turns(most: u32) -> u32 {
  var n = 0u;
  LOOP
  return n;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= params.x_size) {
    return;
  }
  if (x[id.x] < 0.0) {
    y[id.x] = f32(turns(u32(-x[id.x])));
    return;
  }
  y[id.x] = f32(turns(u32(x[id.x])));
}
"""
LOOPS = {
    "for": "for (var k = 0u; k < most; k++) { n += 1u; }",
    "while": "while (n < most) { n += 1u; }",
    "loop": "loop { if (n >= most) { break; } n += 1u; }",
    "break if": "loop { n += 1u; continuing { break if n >= most; } }",
    "nested": "for (var k = 0u; k < most; k += 99u) { for (var i = 0u; i < 99u; i++) { n++; } }",
}
MAP = """
fn op(x: f32) -> f32 {
  var n = 0u;
  while (n < u32(x)) {
    n += 1u;
  }
  return f32(n);
}
"""
SUM = """
fn init() -> f32 { return 0.0; }

fn lift(x: T) -> f32 {
  var n = 0u;
  while (n < u32(x)) { n += 1u; }
  return f32(n);
}

fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""


pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]


def _register(text: str, name: str = "LongLoop") -> None:
    wk.signature(name)(lambda x, /: x.like())
    wk.wgsl_kernel(name, text)


@pytest.fixture
def ended() -> bool:
    """Say whether the adapter of the tests ends loops."""
    driver: Any = find_driver("webgpu")
    return bool(driver.open().policy.ends_loops)


def _check(name: str, rounds: float, ended: bool) -> None:
    x = wk.tensor([rounds, 3.0])
    if ended:
        with pytest.raises(wk.KernelFault, match="the adapter has ended") as caught:
            wk.run(name, x).numpy()
        assert "test_long_loops.py:" in str(caught.value)
        assert "^" in str(caught.value)
    else:
        assert wk.run(name, x).tolist() == [abs(rounds), 3.0]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_turns_too_often_is_reported_and_a_shorter_one_is_right(
    loop: str, ended: bool
) -> None:
    _register(FREE.replace("LOOP", LOOPS[loop]))
    assert wk.run("LongLoop", wk.tensor([59400.0, 99.0])).tolist() == [59400.0, 99.0]
    for rounds in (120000.0, -120000.0):
        if loop != "nested":
            _check("LongLoop", rounds, ended)
        elif ended:
            with pytest.raises(wk.KernelFault, match="the adapter has ended"):
                wk.run("LongLoop", wk.tensor([rounds])).numpy()
    assert wk.run("LongLoop", wk.tensor([297.0])).tolist() == [297.0]


def test_the_message_has_the_line_of_the_loop(ended: bool) -> None:
    _register(MAP)
    if not ended:
        assert wk.run("LongLoop", wk.tensor([100000.0])).tolist() == [100000.0]
        return
    message = r"LongLoop: .*py:\d+:3: the adapter has ended.*\n +while \(n < u32\(x\)\) {\n +\^"
    with pytest.raises(wk.KernelFault, match=message):
        wk.run("LongLoop", wk.tensor([100000.0])).numpy()


def test_a_loop_that_may_not_end_is_named_before_those_that_do(ended: bool) -> None:
    loops = f"{LOOPS['for']}\n  n = 0u;\n  {LOOPS['for']}\n  n = 0u;\n  {LOOPS['loop']}"
    _register(FREE.replace("LOOP", loops))
    if not ended:
        assert wk.run("LongLoop", wk.tensor([120000.0])).tolist() == [120000.0]
        return

    with pytest.raises(wk.KernelFault, match="Either it does not end") as caught:
        wk.run("LongLoop", wk.tensor([120000.0])).numpy()

    said, line, *_ = str(caught.value).split("\n")
    assert line.strip().startswith("loop {")
    first, second = re.findall(r":(\d+):\d+\b", said.split("Others are at ")[1])
    assert int(first) < int(second)


@pytest.mark.parametrize("fusion", ["never", "always"])
def test_each_element_of_a_map_has_all_rounds(fusion: Any) -> None:
    _register(MAP)
    with wk.config.using(fusion=fusion):
        found = wk.run("LongLoop", wk.full((64 * 65,), 30000.0) * 1.0) + 1.0
        assert found.tolist() == [30001.0] * 64 * 65


def test_a_reduction_is_reported_though_each_of_its_loops_is_short(ended: bool) -> None:
    wk.signature("LongSum")(lambda x, /, *, axis=1: x.like(shape=x.shape[:1]))
    wk.wgsl_kernel("LongSum", SUM)
    ones = np.ones((40, 40000), np.float32)
    if ended:
        with pytest.raises(wk.KernelFault, match=r"LongSum: .*ended this loop"):
            wk.run("LongSum", wk.tensor(ones * 80.0)).numpy()
    else:
        assert wk.run("LongSum", wk.tensor(ones * 80.0)).tolist() == [3200000.0] * 40
    assert wk.run("LongSum", wk.tensor(ones[:, :2000])).tolist() == [2000.0] * 40


def test_a_captured_function_reports_each_time(ended: bool) -> None:
    _register(MAP)
    step = wk.capture(lambda x: wk.run("LongLoop", x) * 2.0)
    for _ in range(3):
        assert step(wk.tensor([5.0])).tolist() == [10.0]
        if ended:
            with pytest.raises(wk.KernelFault, match="the adapter has ended"):
                step(wk.tensor([100000.0])).numpy()


def test_what_a_function_with_full_control_dispatches_is_reported(ended: bool) -> None:
    text = FREE.replace("LOOP", LOOPS["while"])
    wk.signature("LongLoop")(lambda x, /: x.like())

    @wk.wgsl_kernel("LongLoop")
    def long_loop(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(text, {"x": x, "y": y})
        return y

    assert wk.run("LongLoop", wk.tensor([60000.0, 3.0])).tolist() == [60000.0, 3.0]
    _check("LongLoop", 100000.0, ended)


def test_what_is_bounded_is_not_looked_at(ended: bool) -> None:
    bounded = MAP.replace("while (n < u32(x))", "for (var i = 0u; i < MOST; i++)")
    _register(f"const MOST = 900u;\n{bounded}")
    _register(MAP, "Open")
    assert CHECK not in _text_of("LongLoop")
    assert (CHECK in _text_of("Open")) == ended


def _text_of(name: str) -> str:
    (row,) = wk.explain(lambda: wk.run(name, wk.tensor([1.0]))).dispatches
    return str(row.program.dispatches[0].module.composed.text)


def test_only_mesas_software_adapters_end_loops() -> None:
    assert not GPU.ends_loops
    assert not SOFTWARE.ends_loops
