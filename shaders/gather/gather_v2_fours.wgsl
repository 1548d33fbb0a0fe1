// gather_v2.wgsl where the slices are a multiple of 4 long
#include "include/gather.wgsl"

const UNIT = 4u;

fn move_unit(to: u32, from_x: u32) {
  store4_y(to, load4_x(from_x));
}

fn clear_unit(to: u32) {
  store4_y(to, vec4<T_y>());
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  gather(id.x + id.y * groups.x * GROUP);
}
