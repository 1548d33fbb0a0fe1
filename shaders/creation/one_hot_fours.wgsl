// one_hot.wgsl where depth is a multiple of 4
#include "creation/one_hot.wgsl"

const UNIT = 4u;

fn write_unit(to: u32, k: u32, chosen: u32) {
  let is_chosen = vec4<u32>(k, k + 1u, k + 2u, k + 3u) == vec4<u32>(chosen);
  store4_y(to, select(vec4<T_y>(params.off), vec4<T_y>(params.on), is_chosen));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  one_hot(id.x + id.y * groups.x * GROUP);
}
