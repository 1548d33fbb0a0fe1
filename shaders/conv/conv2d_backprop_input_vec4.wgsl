// conv2d_backprop_input.wgsl where the channels of dy and y lie in fours; here the filter is
// [p, q, o, c]
#include "conv/conv2d_backprop_input.wgsl"
#include "include/product_vec4.wgsl"

@group(0) @binding(0) var<storage, read> dy: array<vec4<T_dy>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return select(vec4<Sum>(), vec4<Sum>(dy[(place.start + channel) / 4u]), place.inside);
}

fn col_at(batch: u32, col: u32) -> u32 {
  return col;
}

fn step_at(tap: u32, channel: u32) -> u32 {
  return (tap * params.channels + channel) * params.cols;
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(filter_[index / 4u]);
}

@compute @workgroup_size(SIDE, SIDE)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) lane: vec3<u32>,
) {
  product_in_vec4(id.x + id.y * groups.x, lane.xy);
}
