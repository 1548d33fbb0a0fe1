// max_pool.wgsl for int32; the least int32 where the window sees none of x
#include "pool/max_pool.wgsl"

alias Value = i32;

fn lowest() -> Value {
  return Value(-2147483647 - 1);
}

fn larger(a: Value, b: Value) -> Value {
  return max(a, b);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
