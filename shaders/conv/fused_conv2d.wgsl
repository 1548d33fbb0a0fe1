// y = activation(conv2d(x, filter) + bias); see conv2d.wgsl and bias_and_activation.wgsl
#include "conv/conv2d.wgsl"
#include "conv/bias_and_activation.wgsl"

struct Params {
  batches: u32,
  rows: u32,
  cols: u32,
  taps: u32,
  channels: u32,
  tap_block: u32,
  channel_block: u32,
  part_size: u32,
  image: vec2<u32>,
  places: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<u32>,
  x_strides: vec4<u32>,
  x_offset: u32,
  channels_first: u32,
  with_bias: u32,
  activation_code: u32,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: vec4<u32>,
  prelu_activation_weights_strides: vec4<u32>,
  out_shape: vec4<u32>,
}

fn finish(sum: Sum, i: u32) -> Sum {
  return activated(sum, i);
}

@compute @workgroup_size(SIDE, SIDE)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) lane: vec3<u32>,
) {
  product_in_registers(id.x + id.y * groups.x, lane.xy);
}
