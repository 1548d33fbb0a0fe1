// A depthwise convolution (depthwise.wgsl) whose sums are stored as they are.
#include "conv/depthwise.wgsl"

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
}

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return sum;
}
