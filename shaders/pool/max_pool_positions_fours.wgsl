// max_pool_positions.wgsl, four channels at a time
#include "pool/max_pool_positions.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<i32>>;

const UNIT = 4u;
alias Value = vec4<f32>;
alias Position = vec4<i32>;

fn largest_so_far(at: PlaceInY, position: Position) -> Value {
  return Value(
    value_of(at, position.x, 0u),
    value_of(at, position.y, 1u),
    value_of(at, position.z, 2u),
    value_of(at, position.w, 3u),
  );
}

fn value_of(at: PlaceInY, position: i32, lane: u32) -> f32 {
  let found = u32(max(position, 0));
  return f32(x[index_of(at, found / params.image.y, found % params.image.y)][lane]);
}

fn is_larger(value: Value, present: Value) -> vec4<bool> {
  return (are_nan(value) | (value > present)) & !are_nan(present);
}

fn are_nan(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(~SIGN_BIT)) > vec4<u32>(INF_BITS);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  find(id.x + id.y * groups.x * GROUP);
}
