// conv2d.wgsl where the channels of x and the out channels lie in fours
#include "conv/conv2d.wgsl"
#include "include/product_vec4.wgsl"
#include "include/product_vec4_columns.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  let inside = channel - place.low < place.count;
  let index = select(0u, place.start + channel, inside);
  return select(vec4<Sum>(), vec4<Sum>(x[index / 4u]), inside);
}

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(filter_[index]);
}

fn store4(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  if (row < params.rows && col < params.cols) {
    store_four(at, row, col, values);
  }
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_vec4(id.x + id.y * groups.x, lane);
}
