// max_pool.wgsl, four channels at a time
#include "pool/max_pool.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_y>>;

const UNIT = 4u;
alias Value = vec4<f32>;
alias Stored = vec4<T_y>;

fn larger(a: Value, b: Value) -> Value {
  return select(select(select(b, a, a > b), b, are_nan(b)), a, are_nan(a));
}

fn are_nan(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(~SIGN_BIT)) > vec4<u32>(INF_BITS);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
