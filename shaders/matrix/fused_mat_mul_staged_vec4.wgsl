// fused_mat_mul.wgsl through workgroup memory, where the terms of a and the columns of b
// lie in fours
#include "matrix/fused_mat_mul.wgsl"
#include "matrix/fours.wgsl"
#include "include/product_staged.wgsl"
#include "include/product_staged_vec4.wgsl"

@compute @workgroup_size(STAGED_ACROSS * DOWN)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_staged(id.x + id.y * groups.x, lane);
}
