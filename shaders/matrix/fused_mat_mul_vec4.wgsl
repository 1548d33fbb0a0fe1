// fused_mat_mul.wgsl where the terms of a and the columns of b lie in fours
#include "matrix/fused_mat_mul.wgsl"
#include "include/product_vec4.wgsl"

@group(0) @binding(0) var<storage, read> a: array<vec4<T_a>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<T_b>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return vec4<Sum>(a[(place.start + channel) / 4u]);
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(b[index / 4u]);
}

@compute @workgroup_size(SIDE, SIDE)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) lane: vec3<u32>,
) {
  product_in_vec4(id.x + id.y * groups.x, lane.xy);
}
