// copy_block.wgsl where block, row and start are multiples of 4
#include "include/copy_block.wgsl"

const UNIT = 4u;

fn move_unit(to: u32, from_x: u32) {
  store4_y(to, load4_x(from_x));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  copy_block(id.x + id.y * groups.x * GROUP);
}
