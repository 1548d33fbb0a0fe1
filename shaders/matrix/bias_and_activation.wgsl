// What _FusedMatMul does to each sum, of which it says the layout.
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
  y_steps: vec2<u32>, // as in batch_mat_mul.wgsl
  a_offset: u32,
  b_offset: u32,
  batch_shape: array<vec4<u32>, 2>,
  a_strides: array<vec4<u32>, 2>,
  b_strides: array<vec4<u32>, 2>,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: array<vec4<u32>, 2>,
  prelu_activation_weights_strides: array<vec4<u32>, 2>,
  out_shape: array<vec4<u32>, 2>,
}

// Where element i of y has its bias or slope: the offset and the sum of coordinate * stride.
fn index_of(i: u32, offset: u32, strides: array<vec4<u32>, 2>) -> u32 {
  var steps = strides;
  var index = offset;
  var rest = i;
  for (var axis = 7u; rest > 0u; axis--) {
    let length = params.out_shape[axis / 4u][axis % 4u];
    index += rest % length * steps[axis / 4u][axis % 4u];
    rest /= length;
  }
  return index;
}

fn bias_along_last(i: u32) -> u32 {
  return params.bias_offset + i % params.out_shape[1].w * params.bias_strides[1].w;
}
