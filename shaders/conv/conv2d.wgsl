// y[n, i, j, o] = sum over p, q, c of x[n, i * step + p * dilation - before, .. j, q .., c] *
//                                     filter[p, q, c, o], with zeros around x
#include "conv/convolution.wgsl"
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
  image: vec2<u32>,
  places: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<u32>,
  x_strides: vec4<u32>,
  x_offset: u32,
  channels_first: u32,
  line: u32,
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
