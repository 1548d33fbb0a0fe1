// max_pool_int32.wgsl, four channels at a time
#include "pool/max_pool_int32.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_y>>;

const UNIT = 4u;
alias Value = vec4<i32>;
alias Stored = vec4<T_y>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
