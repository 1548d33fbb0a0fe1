// pad_v2.wgsl where the last axis and its paddings are multiples of 4
#include "include/pad.wgsl"

const UNIT = 4u;

fn move_unit(to: u32, from_x: u32) {
  store4_y(to, load4_x(from_x));
}

fn fill_unit(to: u32) {
  store4_y(to, vec4<T>(params.fill));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pad(id.x + id.y * groups.x * GROUP);
}
