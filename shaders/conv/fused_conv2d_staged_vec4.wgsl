// fused_conv2d.wgsl through workgroup memory, where the channels of x and the out channels
// lie in fours
#include "conv/fused_conv2d.wgsl"
#include "conv/fours.wgsl"
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
