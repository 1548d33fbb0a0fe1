// top_k_only.wgsl where every row begins at a multiple of 4
#include "sort/top_k_only.wgsl"

fn four_at(row: u32, i: u32) -> Four {
  return ordered(load4_x(row + i), i);
}

fn put(row: u32, to: u32, word: u32, index: u32) {
  values[to] = load4_x(row + index / 4u * 4u)[index % 4u]; // of NaN that NaN
  indices[to] = i32(index);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
