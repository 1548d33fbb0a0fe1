"""Mean and variance of each row: a kernel with two outputs, which a signature names."""

import wgsl_kernels as wk


def moments_of_rows(x):
    """Return the mean and the variance of each row of x [rows, cols]."""
    return wk.engine().run_kernel("RowMoments", {"x": x})


wk.signature("RowMoments")(lambda x, /: dict.fromkeys(("mean", "variance"), x.like(x.shape[:1])))


wk.cpu_kernel("RowMoments")(lambda x: (x.mean(axis=1), x.var(axis=1)))


SHADER = """
struct Params { x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> mean: array<f32>;
@group(0) @binding(2) var<storage, read_write> variance: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let row = id.x + id.y * groups.x * 64u;
  if (row >= params.x_shape.x) { return; }
  let cols = params.x_shape.y;
  var sum = 0.0;
  for (var j = 0u; j < cols; j++) { sum += x[row * cols + j]; }
  let middle = sum / f32(cols);
  var spread = 0.0;
  for (var j = 0u; j < cols; j++) { let d = x[row * cols + j] - middle; spread += d * d; }
  mean[row] = middle;
  variance[row] = spread / f32(cols);
}
"""
wk.wgsl_kernel("RowMoments", SHADER)
S = wk.testing.Sample("RowMoments", moments_of_rows, ((5, 9),), rtol=1e-4, atol=1e-5)
wk.testing.add_samples("RowMoments", S)
