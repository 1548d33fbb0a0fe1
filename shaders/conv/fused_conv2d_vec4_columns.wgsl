// fused_conv2d.wgsl where the out channels lie in fours, and x lies anyhow
#include "conv/fused_conv2d.wgsl"
#include "conv/columns_in_fours.wgsl"
#include "include/product_registers_columns.wgsl"

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
