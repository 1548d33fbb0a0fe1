"""Defects of drivers: dated rows that hold the wrong value, so that a repair is noticed.

The library's kernels work around each; a row that no longer holds says that its workaround can go
once no supported driver has the defect.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.registry import unregister_kernel

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

NAN, ONE, BIG = 0x7FC00000, 0x3F800000, 0x7F000000
"""The bits of NaN, 1 and 2^127."""
INT_MIN = -(2**31)
LAST = 2147483520
"""The largest float32 that is an i32."""
_SHADER = """
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

var<workgroup> kept: i32;

fn swapped(value: i32) -> i32 {
  let found = kept;
  kept = value;
  return found;
}

fn rounds_clamped() -> i32 {
  for (var j = 0; j < 3; j++) {
    if (clamp(j, -20, 20) != j) { return 1; }
  }
  return 0;
}

fn told_apart(value: i32) -> i32 {
CASES
  return -1;
}

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>) {
  let a = x[0];
  let b = x[1];
  y[group.x] = BODY;
}
""".replace("CASES", "\n".join(f"  if (value == {n}) {{ return {n}; }}" for n in range(90)))


@dataclass(frozen=True)
class Quirk:
    """One expression that a driver computes wrongly.

    Attributes:
        since: When it was measured, YYYY-MM-DD.
        what: What is wrong, in words.
        adapter: Part of the adapter's name that has it; empty for any.
        backend: The graphics interface: ``Vulkan``, ``OpenGL``, …; empty for any.
        expression: WGSL of type i32, over the i32 values ``a`` and ``b``; ``swapped(a)`` puts a
            value into workgroup memory and gives what was there; ``rounds_clamped()`` is 1 where a
            counter of 0 to 2 is not what it is clamped to -20 to 20; ``told_apart(a)`` is ``a``
            where that is from 0 to 89, each of them by a return of its own, else -1.
        a: The first value.
        b: The second value.
        wrong: What comes out, the largest of all workgroups' values.
        right: What WGSL says.
        link: Where it is reported or explained.
        groups: How many workgroups compute it.
    """

    since: str
    what: str
    adapter: str
    backend: str
    expression: str
    a: int
    b: int
    wrong: int
    right: int
    link: str = ""
    groups: int = 1

    def is_of(self, adapter: AdapterInfo) -> bool:
        """Say whether the row speaks of this adapter."""
        return self.adapter in adapter.name.lower() and self.backend in adapter.backend


_NAGA = "https://github.com/gfx-rs/wgpu/blob/trunk/naga/src/back/spv/block.rs"
_DIVISION = "https://www.w3.org/TR/WGSL/#arithmetic-expr"
_CONVERSION = "https://www.w3.org/TR/WGSL/#floating-point-conversion"


def _mesa(what: str, expression: str, a: int, b: int, wrong: int, right: int, link: str) -> Quirk:
    return Quirk("2026-11-21", what, "llvmpipe", "OpenGL", expression, a, b, wrong, right, link)


QUIRKS = (
    Quirk(
        since="2026-11-21",
        what="NaN != 1 is false: naga writes the ordered comparison",
        adapter="",
        backend="Vulkan",
        expression="select(0, 1, bitcast<f32>(a) != bitcast<f32>(b))",
        a=NAN,
        b=ONE,
        wrong=0,
        right=1,
        link=_NAGA,
    ),
    Quirk(
        since="2026-11-22",
        what="workgroup memory keeps the values of the workgroup before",
        adapter="llvmpipe",
        backend="",
        expression="select(0, 1, swapped(a) != 0)",
        a=1,
        b=0,
        wrong=1,
        right=0,
        link="https://www.w3.org/TR/WGSL/#address-space-workgroup",
        groups=64,
    ),
    Quirk(
        since="2026-11-28",
        what="a counter differs from itself within its bounds",
        adapter="llvmpipe",
        backend="",
        expression="rounds_clamped()",
        a=0,
        b=0,
        wrong=1,
        right=0,
        link="https://www.w3.org/TR/WGSL/#clamp",
    ),
    Quirk(
        since="2026-11-28",
        what="conditions within more than 80 others are forgotten",
        adapter="llvmpipe",
        backend="",
        expression="told_apart(a)",
        a=100,
        b=0,
        wrong=79,
        right=-1,
        link="https://docs.mesa3d.org/drivers/llvmpipe.html",
    ),
    _mesa("7 / 0 is not 7", "a / b", 7, 0, 0, 7, _DIVISION),
    _mesa("7 % 0 is not 0", "a % b", 7, 0, -1, 0, _DIVISION),
    _mesa("INT_MIN % -1 is not 0", "a % b", INT_MIN, -1, INT_MIN, 0, _DIVISION),
    _mesa("i32(2^127) is negative", "i32(bitcast<f32>(a))", BIG, 0, INT_MIN, LAST, _CONVERSION),
)


def quirks_at_hand() -> list[Quirk]:
    """Return the rows that speak of the adapter in use."""
    choice = choose_adapter()
    return [] if choice is None else [one for one in QUIRKS if one.is_of(choice.info)]


_number = itertools.count(1).__next__


def measure(quirk: Quirk) -> int:
    """Return what the adapter in use computes for the row's expression."""
    name = f"Quirk{_number()}"

    @wgsl_kernel(name)
    def _probe(gpu: Gpu, x: GpuArray) -> GpuArray:
        y = gpu.empty((quirk.groups,), "int32")
        shader = _SHADER.replace("BODY", quirk.expression)
        gpu.dispatch(shader, {"x": x, "y": y}, groups=(quirk.groups,))
        return y

    try:
        with use_backend("webgpu"):
            y = run(name, tensor(np.array([quirk.a, quirk.b], np.int32)))
            return int(y.numpy().max())
    finally:
        unregister_kernel(name, "webgpu")
