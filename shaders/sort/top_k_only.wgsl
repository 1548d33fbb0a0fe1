// values[row, j] = the j-th largest of x[row], indices[row, j] = its index; rows have one part
#include "include/top_k.wgsl"
#include "include/top_k_words.wgsl"

@group(0) @binding(1) var<storage, read_write> values: array<T>;
@group(0) @binding(2) var<storage, read_write> indices: array<i32>;

fn put(row: u32, to: u32, word: u32, index: u32) {
  values[to] = load_x(row + index); // of NaN that NaN
  indices[to] = i32(index);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  keep_largest(id.x + id.y * groups.x * GROUP);
}
