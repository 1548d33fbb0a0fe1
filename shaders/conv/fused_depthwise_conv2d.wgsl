// y = activation(depthwise_conv2d(x, filter) + bias)
#include "conv/depthwise_bias_and_activation.wgsl"

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
