// pairs[row, part, j] = (order, index) of the j-th largest of a part of x[row]
#include "include/top_k_pairs.wgsl"
#include "include/top_k_words.wgsl"

fn four_at(row: u32, i: u32) -> Four {
  let x = vec4<T>(
    load_x(row + i), load_x(row + i + 1u), load_x(row + i + 2u), load_x(row + i + 3u),
  );
  return ordered(x, i);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
