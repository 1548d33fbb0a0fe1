"""One step of heat along a rod: a stencil that reads each element once, into workgroup memory."""

import numpy as np

import wgsl_kernels as wk


def heat(x, *, rate=0.25):
    """Return x + rate · (left - 2x + right); the ends are insulated. x is [length]."""
    return wk.engine().run_kernel("Heat", {"x": x}, {"rate": rate})


wk.signature("Heat")(lambda x, /, *, rate: x.like())


@wk.cpu_kernel("Heat")
def _cpu(x, *, rate):
    return x + rate * np.diff(x, 2, prepend=x[:1], append=x[-1:])


SHADER = """
struct Params { x_size: u32, rate: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<f32, 66>; // 64 elements, and one more at either end

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * 64u;
  for (var k = lane; k < 66u; k += 64u) { // element k - 1 of the workgroup's
    tile[k] = x[min(max(first + k, 1u) - 1u, params.x_size - 1u)];
  }
  workgroupBarrier(); // outside of every if: all invocations reach it
  let heat = tile[lane] - 2.0 * tile[lane + 1u] + tile[lane + 2u];
  if (first + lane < params.x_size) { y[first + lane] = tile[lane + 1u] + params.rate * heat; }
}
"""
wk.wgsl_kernel("Heat", SHADER, groups=lambda x_size: (-(-x_size // 64),))
wk.testing.add_samples("Heat", wk.testing.Sample("Heat", heat, ((130,),), rtol=1e-5, atol=1e-5))
