// batch_mat_mul_vec4_terms.wgsl, where the lanes of a CPU share the elements of a
#include "matrix/batch_mat_mul_vec4_terms.wgsl"
#include "include/product_lanes.wgsl"
#include "include/product_lanes_terms.wgsl"

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  product_in_lanes(id.x + id.y * groups.x, lane);
}
