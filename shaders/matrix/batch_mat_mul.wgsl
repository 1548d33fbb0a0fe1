// y[.., i, j] = sum over k of a[.., i, k] * b[.., k, j]
#include "matrix/matrices.wgsl"
#include "include/product_plain.wgsl"
#include "include/product_registers.wgsl"

struct Params {
  batches: u32,
  rows: u32,
  cols: u32,
  taps: u32,
  channels: u32,
  tap_block: u32,
  channel_block: u32,
  part_size: u32,
  across: u32,
  y_steps: vec2<u32>, // from one row of y to the next, and from one column
  a_offset: u32,
  b_offset: u32,
  batch_shape: array<vec4<u32>, 2>,
  a_strides: array<vec4<u32>, 2>,
  b_strides: array<vec4<u32>, 2>,
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
