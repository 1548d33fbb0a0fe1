// conv2d.wgsl where the channels of x and the out channels lie in fours
#include "conv/conv2d.wgsl"
#include "include/product_vec4.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return select(vec4<Sum>(), vec4<Sum>(x[(place.start + channel) / 4u]), place.inside);
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
