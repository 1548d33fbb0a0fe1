// conv2d_backprop_filter.wgsl through workgroup memory, for GPUs
#include "conv/conv2d_backprop_filter.wgsl"
#include "include/product_staged.wgsl"
#include "include/product_staged_scalars.wgsl"

@compute @workgroup_size(STAGED_ACROSS * DOWN)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_staged(id.x + id.y * groups.x, lane);
}
