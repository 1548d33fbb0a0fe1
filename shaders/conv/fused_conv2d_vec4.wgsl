// fused_conv2d.wgsl where the channels of x and the out channels lie in fours
#include "conv/fused_conv2d.wgsl"
#include "conv/fours.wgsl"
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
