// pairs[row, i] = (order of x[row, i], i), in rows filled up to width with pairs that come last

#include "include/ordering.wgsl"

const GROUP = 64u;

struct Params {
  count: u32, // of pairs
  length: u32, // of a row of x
  width: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let place = id.x + id.y * groups.x * GROUP;
  if (place >= params.count) {
    return;
  }
  let row = place / params.width;
  let i = place % params.width;
  var order = 0u;
  if (i < params.length) {
    order = order_of(load_x(row * params.length + i));
  }
  pairs[place] = vec2<u32>(order, i);
}
