// batch_mat_mul.wgsl where the terms of a and the columns of b lie in fours
#include "matrix/batch_mat_mul.wgsl"
#include "matrix/fours.wgsl"
#include "include/product_vec4.wgsl"
#include "include/product_vec4_columns.wgsl"

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4(id.x + id.y * groups.x, lane);
}
