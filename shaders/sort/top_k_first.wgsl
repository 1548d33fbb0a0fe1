// pairs[row, part, j] = (order, index) of the j-th largest of a part of x[row]
#include "include/top_k_pairs.wgsl"
#include "include/top_k_words.wgsl"

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
