// What FusedConv2D does to each sum, of which it says the layout.
#include "include/bias_and_activation.wgsl"

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
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: vec4<u32>,
  prelu_activation_weights_strides: vec4<u32>,
  out_shape: vec4<u32>,
}

// Where element i of y has its bias or slope: the offset and the sum of coordinate * stride.
fn index_of(i: u32, offset: u32, strides: vec4<u32>) -> u32 {
  let third = i / params.out_shape.w;
  let second = third / params.out_shape.z;
  let at = vec4<u32>(
    second / params.out_shape.y,
    second % params.out_shape.y,
    third % params.out_shape.z,
    i % params.out_shape.w,
  );
  let terms = at * strides;
  return offset + terms.x + terms.y + terms.z + terms.w;
}

fn bias_along_last(i: u32) -> u32 {
  return params.bias_offset + i % params.out_shape.w * params.bias_strides.w;
}
