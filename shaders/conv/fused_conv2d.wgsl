// y = activation(conv2d(x, filter) + bias)
#include "conv/convolution.wgsl"
#include "conv/bias_and_activation.wgsl"
#include "include/product_registers.wgsl"

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
