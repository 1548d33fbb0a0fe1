// What _FusedMatMul does to each sum: activation(sum + bias).
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

const NO_BIAS = 0u;
const ALONG_LAST = 1u; // the same number for all that differ in other axes than the last

// Overrides, so that what is not done costs nothing: some adapters run every branch.
override BIAS: u32 = 2u;
override ACTIVATION: u32 = 0u;

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
  if (BIAS == NO_BIAS) {
    return activated(sum, i);
  }
  if (BIAS == ALONG_LAST) {
    return activated(sum + Sum(bias[params.bias_offset + i % params.out_shape[1].w * params.bias_strides[1].w]), i);
  }
  return activated(sum + Sum(bias[index_of(i, params.bias_offset, params.bias_strides)]), i);
}

fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum> {
  var values = sums;
  for (var n = 0u; n < 4u; n++) {
    values[n] = finish(sums[n], i + n);
  }
  return values;
}

fn slope_at(i: u32) -> Sum {
  let strides = params.prelu_activation_weights_strides;
  let at = index_of(i, params.prelu_activation_weights_offset, strides);
  return Sum(prelu_activation_weights[at]);
}

fn activation_code() -> u32 {
  return ACTIVATION;
}
