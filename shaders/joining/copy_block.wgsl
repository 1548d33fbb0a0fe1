// A block of x into every row of y, element by element
#include "include/copy_block.wgsl"

const UNIT = 1u;

fn move_unit(to: u32, from_x: u32) {
  store_y(to, load_x(from_x));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  copy_block(id.x + id.y * groups.x * GROUP);
}
