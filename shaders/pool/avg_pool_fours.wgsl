// avg_pool.wgsl, four channels at a time
#include "pool/avg_pool.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_y>>;

const UNIT = 4u;
alias Value = vec4<f32>;
alias Stored = vec4<T_y>;

fn divided(sum: Value, count: f32) -> Value {
  return Value(
    safe_div(sum.x, count), safe_div(sum.y, count), safe_div(sum.z, count), safe_div(sum.w, count),
  );
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
