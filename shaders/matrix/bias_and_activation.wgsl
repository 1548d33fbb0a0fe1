// What _FusedMatMul does to each sum: activation(sum + bias).
//
// bias and prelu_activation_weights are views of y's shape; where one is absent its flag is 0, or
// the activation another, and it is not read.
#include "include/activation.wgsl"
#include "include/safe_math.wgsl"

struct Params {
  batches: u32,
  rows: u32,
  cols: u32,
  taps: u32,
  channels: u32,
  tap_block: u32,
  channel_block: u32,
  part_size: u32,
  y_steps: vec2<u32>, // as in batch_mat_mul.wgsl
  a_offset: u32,
  b_offset: u32,
  batch_shape: array<vec4<u32>, 2>,
  a_strides: array<vec4<u32>, 2>,
  b_strides: array<vec4<u32>, 2>,
  with_bias: u32,
  activation_code: u32,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: array<vec4<u32>, 2>,
  prelu_activation_weights_strides: array<vec4<u32>, 2>,
  out_shape: array<vec4<u32>, 2>,
}

@group(0) @binding(0) var<storage, read> bias: array<T_bias>;
@group(0) @binding(1) var<storage, read> prelu_activation_weights:
  array<T_prelu_activation_weights>;

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

fn finish(sum: Sum, i: u32) -> Sum {
  var value = sum;
  if (params.with_bias != 0u) {
    value += Sum(bias[index_of(i, params.bias_offset, params.bias_strides)]);
  }
  return activated(value, i);
}

fn slope_at(i: u32) -> Sum {
  let strides = params.prelu_activation_weights_strides;
  let at = index_of(i, params.prelu_activation_weights_offset, strides);
  return Sum(prelu_activation_weights[at]);
}

fn activation_code() -> u32 {
  return params.activation_code;
}
