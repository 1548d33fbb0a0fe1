// pairs[row, part, j] = (order, index) of the j-th largest of a part of x[row]
#include "include/ordering.wgsl"
#include "include/top_k.wgsl"

fn four_at(row: u32, i: u32) -> Four {
  let x = vec4<T>(
    load_x(row + i), load_x(row + i + 1u), load_x(row + i + 2u), load_x(row + i + 3u),
  );
  return ordered(x, i);
}

fn ordered(x: vec4<T>, i: u32) -> Four {
  let words = vec4<u32>(order_of(x.x), order_of(x.y), order_of(x.z), order_of(x.w));
  return Four(words, vec4<u32>(0u, 1u, 2u, 3u) + i);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
