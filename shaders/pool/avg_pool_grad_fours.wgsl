// avg_pool_grad.wgsl, four channels at a time
#include "pool/avg_pool_grad.wgsl"

@group(0) @binding(0) var<storage, read> dy: array<vec4<T_dy>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_y>>;

alias Value = vec4<f32>;
alias Stored = vec4<T_y>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  spread(id.x + id.y * groups.x * GROUP);
}
