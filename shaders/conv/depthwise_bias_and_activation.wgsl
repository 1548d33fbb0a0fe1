// A depthwise convolution (depthwise.wgsl) with activation(sum + bias) stored for each sum.
//
// bias and prelu_activation_weights are views of y's shape; where one is absent its flag is 0, or
// the activation another, and it is not read. These two are constants of the pipeline, since the
// sum itself is short.
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
  out_strides: vec4<u32>, // of what this dispatch writes of y
  x_offset: u32,
  out_offset: u32,
  batch: u32,
  depth: u32, // channels of y
  filter_steps: vec2<u32>, // from one row of the window to the next, and from one element
  filter_start: u32,
  apart: u32, // elements of x from one place of an invocation to its next
  chunks: u32, // groups of three elements per turn
  part_rows: u32, // lines of the window that a part sums
  part_chunks: u32, // groups of three elements that it sums of each
  tiles: u32, // along a line
  invocations: u32,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: vec4<u32>,
  prelu_activation_weights_strides: vec4<u32>,
}

override with_bias = true;
override activation = 0u;

@group(0) @binding(4) var<storage, read> bias: array<T_bias>;
@group(0) @binding(5) var<storage, read> prelu_activation_weights:
  array<T_prelu_activation_weights>;

fn index_at(at: vec4<u32>, strides: vec4<u32>) -> u32 {
  let terms = at * steps_of(strides);
  return terms.x + terms.y + terms.z + terms.w;
}

fn finished(sum: Sum, at: vec4<u32>) -> Sum {
  var value = sum;
  if (with_bias) {
    value += Sum(bias[params.bias_offset + index_at(at, params.bias_strides)]);
  }
  return activated(value, index_at(at, params.prelu_activation_weights_strides));
}

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return finished(sum, at);
}

fn activation_code() -> u32 {
  return activation;
}

fn slope_at(i: u32) -> Sum {
  return Sum(prelu_activation_weights[params.prelu_activation_weights_offset + i]);
}
