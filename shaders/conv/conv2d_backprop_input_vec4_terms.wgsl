// conv2d_backprop_input.wgsl where the channels of dy, and so those of the filter, lie in fours
#include "conv/conv2d_backprop_input.wgsl"
#include "include/product_fours.wgsl"
#include "include/product_vec4.wgsl"
#include "include/product_vec4_terms.wgsl"

@group(0) @binding(0) var<storage, read> dy: array<vec4<T_dy>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return select(vec4<Sum>(), vec4<Sum>(dy[(place.start + channel) / 4u]), place.inside);
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(filter_[index]);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4(id.x + id.y * groups.x, lane);
}
