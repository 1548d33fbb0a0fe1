// A depthwise convolution (depthwise.wgsl) with activation(sum + bias) stored for each sum.
#include "conv/depthwise.wgsl"
#include "include/bias_and_activation.wgsl"

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

fn index_at(at: vec4<u32>, strides: vec4<u32>) -> u32 {
  let terms = at * steps_of(strides);
  return terms.x + terms.y + terms.z + terms.w;
}

fn finished(sum: Sum, at: vec4<u32>) -> Sum {
  var value = sum;
  if (BIAS != NO_BIAS) {
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
