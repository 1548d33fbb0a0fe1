// y[n, i, j, c * multiplier + m] = sum over p, q of x[n, i * step + p * dilation - before, .. j, q ..,
//                                     c] * filter[p, q, c, m], with zeros around x
//
// With some declarations changed (depthwise_conv2d_native_vec4.wgsl) an invocation takes four channels.
#include "conv/depthwise.wgsl"

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
}

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return sum;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
