// y = x cut toward zero and saturated; 0 where it is NaN
#include "include/safe_math.wgsl"

const GROUP = 64u;

struct Params {
  y_size: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.y_size) {
    store_y(i, to_int32(f32(load_x(i))));
  }
}

fn to_int32(x: f32) -> i32 {
  if (is_nan(x)) {
    return 0;
  }
  if (x >= 0x1p31f) {
    return 2147483647;
  }
  return i32(max(x, -0x1p31f));
}
