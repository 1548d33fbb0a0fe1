// depthwise_conv2d_native.wgsl where the channels lie in fours and the multiplier is 1
#include "conv/depthwise_plain.wgsl"
#include "conv/depthwise_four.wgsl"

const LANES = 4u;

alias Value = vec4<Sum>;
alias Stored = vec4<T_y>;

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
