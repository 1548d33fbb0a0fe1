// y[i] = mean + std_dev * z_i, z_i standard normal

#include "include/random.wgsl"
#include "include/integer.wgsl"
#include "include/safe_math.wgsl"
#include "include/trigonometry.wgsl"

const GROUP = 64u;

struct Params {
  y_size: u32,
  mean: f32,
  std_dev: f32,
}

@group(0) @binding(0) var<storage, read> key: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.y_size) {
    let stream = vec4<i32>(key[0], key[1], key[2], key[3]);
    y[i] = T_y(params.mean + params.std_dev * random_normal(stream, i));
  }
}
