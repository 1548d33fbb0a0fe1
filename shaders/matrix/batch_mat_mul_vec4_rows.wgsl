// batch_mat_mul.wgsl where the rows of a and the columns of b lie in fours
#include "matrix/batch_mat_mul.wgsl"
#include "matrix/rows_in_fours.wgsl"
#include "include/product_vec4_rows.wgsl"

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4_rows(id.x + id.y * groups.x, lane);
}
