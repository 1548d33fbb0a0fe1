// sum_parts.wgsl for int32
#include "include/product_sum.wgsl"

alias Sum = i32;

struct Params {
  parts_count: u32,
  y_size: u32,
}

@group(0) @binding(0) var<storage, read> parts: array<Sum>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

fn finish(sum: Sum, i: u32) -> Sum {
  return sum;
}

@compute @workgroup_size(SUM_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  sum_parts(id.x + id.y * groups.x * SUM_GROUP);
}
