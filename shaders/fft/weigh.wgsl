// y[row, k] = scale * x[row, k] * weights[k], and 0 past the end of weights or of a row of x
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

const GROUP = 64u;

struct Params {
  y_size: u32,
  length: u32, // of a row of y
  x_length: u32, // of a row of x
  weights_size: u32,
  scale: f32,
}

@group(0) @binding(0) var<storage, read> weights: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let k = i % params.length;
  if (k >= min(params.weights_size, params.x_length)) {
    y[i] = vec2<f32>();
    return;
  }
  let value = complex_mul(load_x(i / params.length * params.x_length + k), weights[k]);
  y[i] = params.scale * value;
}
