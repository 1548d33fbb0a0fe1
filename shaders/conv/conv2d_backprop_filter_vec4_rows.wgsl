// conv2d_backprop_filter.wgsl where the channels of x and dy lie in fours
#include "conv/conv2d_backprop_filter.wgsl"
#include "include/product_fours.wgsl"
#include "include/product_vec4_rows.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> dy: array<vec4<T_dy>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  let at = u32(place.x + i32(channel * params.step.y));
  let inside = place.inside && at < params.image.y;
  let start = place.start + select(0u, at * params.x_strides.z, inside); // NHWC
  return select(vec4<Sum>(), vec4<Sum>(x[start / 4u]), inside);
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(dy[index]);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4_rows(id.x + id.y * groups.x, lane);
}
