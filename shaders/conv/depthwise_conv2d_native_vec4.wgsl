// depthwise_conv2d_native.wgsl where the channels lie in fours and the multiplier is 1
#include "conv/depthwise_fours.wgsl"

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
