// depthwise_conv2d_native_backprop_filter.wgsl where the channels lie in fours, the multiplier is 1
#include "conv/depthwise_conv2d_native_backprop_filter.wgsl"

const LANES = 4u;

alias Value = vec4<Sum>;
alias Stored = vec4<T_y>;

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> dy: array<vec4<T_dy>>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  gather_filter(id.x + id.y * groups.x * GROUP);
}
