// y = (x - mean) * scale / sqrt(variance + variance_epsilon) + offset
//
// All are views of x's shape; one that is absent has another array in its place, never read.
#include "include/safe_math.wgsl"

const GROUP = 64u;

override with_offset = true;
override with_scale = true;

struct Params {
  y_size: u32,
  variance_epsilon: f32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  var slope = safe_rsqrt(f32(load_variance(i)) + params.variance_epsilon);
  if (with_scale) {
    slope *= f32(load_scale(i));
  }
  var value = (f32(load_x(i)) - f32(load_mean(i))) * slope;
  if (with_offset) {
    value += f32(load_offset(i));
  }
  store_y(i, T_y(value));
}
