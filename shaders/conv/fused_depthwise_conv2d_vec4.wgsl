// fused_depthwise_conv2d.wgsl where the channels lie in fours and the multiplier is 1
#include "conv/depthwise_bias_and_activation.wgsl"
#include "conv/depthwise_fours.wgsl"

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return Value(
    finished(sum.x, at),
    finished(sum.y, at + vec4<u32>(0u, 0u, 0u, 1u)),
    finished(sum.z, at + vec4<u32>(0u, 0u, 0u, 2u)),
    finished(sum.w, at + vec4<u32>(0u, 0u, 0u, 3u)),
  );
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
