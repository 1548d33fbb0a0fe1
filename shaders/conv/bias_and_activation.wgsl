// What FusedConv2D does to each sum: activation(sum + bias).
//
// bias and prelu_activation_weights are views of y's shape; where one is absent BIAS is NO_BIAS, or the
// activation another, and it is not read.
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

const NO_BIAS = 0u;
const ALONG_LAST = 1u; // the same number for all that differ in other axes than the last

// Overrides, so that what is not done costs nothing: some adapters run every branch.
override BIAS: u32 = 2u;
override ACTIVATION: u32 = 0u;

@group(0) @binding(0) var<storage, read> bias: array<T_bias>;
@group(0) @binding(1) var<storage, read> prelu_activation_weights:
  array<T_prelu_activation_weights>;

fn index_at(i: u32, strides: vec4<u32>) -> u32 {
  let third = i / params.out_shape.w;
  let second = third / params.out_shape.z;
  let at = vec4<u32>(
    second / params.out_shape.y,
    second % params.out_shape.y,
    third % params.out_shape.z,
    i % params.out_shape.w,
  );
  let terms = at * strides;
  return terms.x + terms.y + terms.z + terms.w;
}

fn finish(sum: Sum, i: u32) -> Sum {
  if (BIAS == NO_BIAS) {
    return activated(sum, i);
  }
  if (BIAS == ALONG_LAST) {
    return activated(sum + Sum(bias[params.bias_offset + i % params.out_shape.w * params.bias_strides.w]), i);
  }
  return activated(sum + Sum(bias[params.bias_offset + index_at(i, params.bias_strides)]), i);
}

fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum> {
  var values = sums;
  for (var n = 0u; n < 4u; n++) {
    values[n] = finish(sums[n], i + n);
  }
  return values;
}

fn slope_at(i: u32) -> Sum {
  let at = index_at(i, params.prelu_activation_weights_strides);
  return Sum(prelu_activation_weights[params.prelu_activation_weights_offset + at]);
}

fn activation_code() -> u32 {
  return ACTIVATION;
}
