// y = activation(depthwise_conv2d(x, filter) + bias)
//
// bias and prelu_activation_weights are views of y's shape; where one is absent its flag is 0, or
// the activation another, and it is not read.
#include "conv/depthwise.wgsl"
#include "include/activation.wgsl"
#include "include/safe_math.wgsl"

struct Params {
  places: vec2<u32>,
  image: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<i32>, // below 0 where the padding of a gradient is
  x_strides: vec4<u32>,
  y_strides: vec4<u32>,
  x_offset: u32,
  channels_first: u32,
  batch: u32,
  depth: u32, // channels of y
  multiplier: u32, // of them per channel of x
  turned: u32, // whether the filter is read from its end
  turns: u32, // see above
  spread: u32,
  apart: u32,
  chunks: u32, // groups of three elements per turn
  part_rows: u32, // lines of the window that a part sums
  part_chunks: u32, // groups of three elements that it sums of each
  tiles: u32, // along a line
  invocations: u32,
  with_bias: u32,
  activation_code: u32,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: vec4<u32>,
  prelu_activation_weights_strides: vec4<u32>,
}

@group(0) @binding(4) var<storage, read> bias: array<T_bias>;
@group(0) @binding(5) var<storage, read> prelu_activation_weights:
  array<T_prelu_activation_weights>;

fn index_at(at: vec4<u32>, strides: vec4<u32>) -> u32 {
  let terms = at * steps_of(strides);
  return terms.x + terms.y + terms.z + terms.w;
}

fn finished(sum: Sum, at: vec4<u32>) -> Sum {
  var value = sum;
  if (params.with_bias != 0u) {
    value += Sum(bias[params.bias_offset + index_at(at, params.bias_strides)]);
  }
  return activated(value, index_at(at, params.prelu_activation_weights_strides));
}

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return finished(sum, at);
}

fn slope_at(i: u32) -> Sum {
  return Sum(prelu_activation_weights[params.prelu_activation_weights_offset + i]);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
