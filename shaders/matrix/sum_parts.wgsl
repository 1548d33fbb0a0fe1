// y = sum of the parts of a product, in the order of the parts; 0 where there are none
#include "include/product_plain.wgsl"
#include "include/product_sum.wgsl"

alias Sum = f32;

struct Params {
  parts_count: u32,
  y_size: u32,
}

@group(0) @binding(0) var<storage, read> parts: array<Sum>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(SUM_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  sum_parts(id.x + id.y * groups.x * SUM_GROUP);
}
