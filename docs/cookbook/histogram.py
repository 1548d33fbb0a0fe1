"""A histogram: invocations add to the same counts by atomics, which start from 0."""

import numpy as np

import wgsl_kernels as wk


def histogram(x, *, bins):
    """Return how often each whole number below ``bins`` is in x, of int32."""
    return wk.engine().run_kernel("Histogram", {"x": x}, {"bins": bins})


wk.signature("Histogram")(lambda x, /, *, bins: x.like(shape=(bins,)))


@wk.cpu_kernel("Histogram")
def _cpu(x, *, bins):
    return np.bincount(x[(x >= 0) & (x < bins)], minlength=bins).astype(x.dtype)


SHADER = """
struct Params { x_size: u32, bins: i32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u; // grids past 65,535 workgroups fold in two
  if (i < params.x_size && x[i] >= 0 && x[i] < params.bins) {
    atomicAdd(&y[x[i]], 1);
  }
}
"""
one_each = {"groups": lambda x_size: (min(-(-x_size // 64), 65535), -(-x_size // (64 * 65535)))}
wk.wgsl_kernel("Histogram", SHADER, dtypes=("int32",), init={"y": 0}, **one_each)

Sample = wk.testing.Sample("Histogram", histogram, ((300,),), "int32", {"bins": 9}, low=-2, high=11)
wk.testing.add_samples("Histogram", Sample)
