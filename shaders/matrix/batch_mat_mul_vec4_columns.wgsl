// batch_mat_mul.wgsl where the columns of b lie in fours, and a lies anyhow
#include "matrix/batch_mat_mul.wgsl"

@group(0) @binding(1) var<storage, read> b: array<vec4<T_b>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(b[index]);
}

fn load_eight(columns: Eight, start: u32) -> Pair {
  return Pair(load_b4((columns.col0 + start) / 4u), load_b4((columns.col4 + start) / 4u));
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
  product_in_registers(id.x + id.y * groups.x, lane);
}
