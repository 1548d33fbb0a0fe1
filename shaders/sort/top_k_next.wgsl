// pairs[row, part, j] = the j-th largest of a part of kept[row], which is what such a step left
#include "include/top_k_pairs.wgsl"

@group(0) @binding(0) var<storage, read> kept: array<vec2<u32>>;

fn zero_is_free() -> bool {
  return false;
}

fn four_at(row: u32, i: u32) -> Four {
  let x = kept[row + i];
  let y = kept[row + i + 1u];
  let z = kept[row + i + 2u];
  let w = kept[row + i + 3u];
  return Four(vec4<u32>(x.x, y.x, z.x, w.x), vec4<u32>(x.y, y.y, z.y, w.y));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
