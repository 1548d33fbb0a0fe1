// y[i] = minval + (maxval - minval) * u_i, u_i in [0, 1); of int32 whole numbers below maxval; of
// bool a fair coin

#include "include/random.wgsl"
#include "include/integer.wgsl"

const GROUP = 64u;

struct Params {
  y_size: u32,
  minval: f32,
  maxval: f32,
  first: i32, // of int32: minval and maxval, exactly
  last: i32,
  is_whole: u32,
  is_bool: u32,
}

@group(0) @binding(0) var<storage, read> key: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let stream = vec4<i32>(key[0], key[1], key[2], key[3]);
  if (params.is_bool != 0u) {
    y[i] = T_y(random_bits(stream, i) >> 31u);
  } else if (params.is_whole != 0u) {
    y[i] = T_y(random_integer(stream, i, params.first, params.last));
  } else {
    y[i] = T_y(random_uniform(stream, i, params.minval, params.maxval));
  }
}
