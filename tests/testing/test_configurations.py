"""Kernels that may run in several configurations are checked in each of them."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.declare.variants import declare, size_class
from wgsl_kernels.testing import Sample, check_kernel

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]

CUBES = """
override GROUP: u32 = 64u;
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * WIDTH;
  if (i < params.x_size) { y[i] = x[i] * x[i] * x[i]; }
}
"""


@pytest.mark.parametrize(("width", "codes"), [("GROUP", set()), ("64u", {"wrong-configuration"})])
def test_each_configuration_is_tried_where_grids_fold(width: str, codes: set[str]) -> None:
    groups = {"narrow": 64, "wide": 256}
    declare("Cubes", tuple(groups))
    wk.register_kernel("Cubes", "cpu", lambda x: x * x * x, signature=lambda x, /: x.like())

    @wk.wgsl_kernel("Cubes", dtypes=("float32",))
    def cubes(gpu: Any, x: Any) -> Any:
        x = gpu.contiguous(x)

        def run(name: str) -> Any:
            y, size = gpu.empty(x.shape, x.dtype), groups[name]
            grid = gpu.grid(x.size, size)
            shader = CUBES.replace("WIDTH", width)
            gpu.dispatch(shader, {"x": x, "y": y}, groups=grid, constants={"GROUP": size})
            return y

        return run(gpu.choose((size_class(x.size),), tuple(groups), "narrow", run, x.size))

    tried = Sample("Cubes", functools.partial(wk.run, "Cubes"), ((13, 23),), rtol=1e-5, atol=1e-5)
    report = check_kernel("Cubes", [tried], sections=("right",))

    assert {one.code for one in report.findings} == codes


NEIGHBOURS = """
override GROUP: u32 = 64u;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> lines: array<f32, 256>;
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = group.x * GROUP + lane;
  lines[lane] = x[min(i, arrayLength(&x) - 1u)];
  if (GROUP < BARRIERS_BELOW) {
    workgroupBarrier();
  }
  if (i < arrayLength(&x)) {
    y[i] = max(min(lines[lane ^ 1u], x[i]), x[i]);
  }
}
"""


@pytest.mark.parametrize(("below", "codes"), [("999u", set()), ("256u", {"read-race"})])
def test_races_are_looked_for_in_each_configuration(below: str, codes: set[str]) -> None:
    groups = {"narrow": 64, "wide": 256}
    declare("Neighbours", tuple(groups))
    wk.register_kernel("Neighbours", "cpu", lambda x: x + 0, signature=lambda x, /: x.like())
    shader = NEIGHBOURS.replace("BARRIERS_BELOW", below)

    @wk.wgsl_kernel("Neighbours", dtypes=("float32",))
    def neighbours(gpu: Any, x: Any) -> Any:
        x = gpu.contiguous(x)

        def run(name: str) -> Any:
            y = gpu.empty(x.shape, x.dtype)
            size = groups[name]
            grid = gpu.grid(x.size, size)
            gpu.dispatch(shader, {"x": x, "y": y}, groups=grid, constants={"GROUP": size})
            return y

        return run(gpu.choose((), tuple(groups), "narrow", run, x.size))

    tried = Sample("Neighbours", functools.partial(wk.run, "Neighbours"), ((40,),))
    report = check_kernel("Neighbours", [tried], sections=("safe",))

    assert {one.code for one in report.findings} == codes
    assert all(dict(one.evidence)["case"].endswith(", wide") for one in report.findings)
