// y = (x - mean) * scale / sqrt(variance + variance_epsilon) + offset, one of each per channel
//
// x and y: [rows, channels], channels a multiple of four. An invocation takes four channels, whose
// slope it computes once, and `steps` rows from `part * first` on, each `apart` from the one before.
// What is absent has another array in its place, never read.
#include "include/safe_math.wgsl"

const GROUP = 64u;

override with_offset = true;
override with_scale = true;

struct Params {
  rows: u32,
  fours: u32, // channels / 4
  parts: u32,
  steps: u32,
  first: u32,
  apart: u32,
  variance_epsilon: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4<T>>;
@group(0) @binding(1) var<storage, read> mean: array<vec4<T>>;
@group(0) @binding(2) var<storage, read> variance: array<vec4<T>>;
@group(0) @binding(3) var<storage, read> offset: array<vec4<T>>;
@group(0) @binding(4) var<storage, read> scale: array<vec4<T>>;
@group(0) @binding(5) var<storage, read_write> y: array<vec4<T>>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP;
  let four = number % params.fours;
  let part = number / params.fours;
  if (part >= params.parts) {
    return;
  }
  let spread = vec4<f32>(variance[four]) + params.variance_epsilon;
  var slope = vec4<f32>(
    safe_rsqrt(spread.x), safe_rsqrt(spread.y), safe_rsqrt(spread.z), safe_rsqrt(spread.w)
  );
  if (with_scale) {
    slope *= vec4<f32>(scale[four]);
  }
  var base = vec4<f32>();
  if (with_offset) {
    base = vec4<f32>(offset[four]);
  }
  let centre = vec4<f32>(mean[four]);
  var row = part * params.first;
  for (var step = 0u; step < params.steps && row < params.rows; step++) {
    let i = row * params.fours + four;
    y[i] = vec4<T>(fma(vec4<f32>(x[i]) - centre, slope, base));
    row += params.apart;
  }
}
