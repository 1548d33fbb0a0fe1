// conv2d_backprop_filter_vec4_rows.wgsl, where the lanes of a CPU share the elements of x
#include "conv/conv2d_backprop_filter_vec4_rows.wgsl"
#include "include/product_vec4_columns.wgsl"
#include "include/product_lanes.wgsl"
#include "include/product_lanes_rows.wgsl"

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  product_in_lanes(id.x + id.y * groups.x, lane);
}
