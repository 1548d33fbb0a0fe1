// x with a value around it, element by element
#include "include/pad.wgsl"

const UNIT = 1u;

fn move_unit(to: u32, from_x: u32) {
  store_y(to, load_x(from_x));
}

fn fill_unit(to: u32) {
  store_y(to, params.fill);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pad(id.x + id.y * groups.x * GROUP);
}
