// fused_depthwise_conv2d_vec4.wgsl for adapters that are CPUs
#include "conv/depthwise_bias_and_activation.wgsl"
#include "conv/depthwise_eight.wgsl"

const LANES = 4u;

alias Value = vec4<Sum>;
alias Stored = vec4<T_y>;

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;

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
