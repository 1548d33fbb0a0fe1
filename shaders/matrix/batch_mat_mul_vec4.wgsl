// batch_mat_mul.wgsl where the terms of a and the columns of b lie in fours
#include "matrix/batch_mat_mul.wgsl"
#include "include/product_vec4.wgsl"
#include "include/product_vec4_columns.wgsl"

@group(0) @binding(0) var<storage, read> a: array<vec4<T_a>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<T_b>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return vec4<Sum>(a[(place.start + channel) / 4u]);
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(b[index]);
}

fn store4(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  if (row < params.rows && col < params.cols) {
    store_four(at, row, col, values);
  }
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4(id.x + id.y * groups.x, lane);
}
