// top_k_first.wgsl where every row begins at a multiple of 4
#include "sort/top_k_first.wgsl"

fn four_at(row: u32, i: u32) -> Four {
  return ordered(load4_x(row + i), i);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
