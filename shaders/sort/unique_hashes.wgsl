// pairs[i] = (hash of the i-th slice of x, i), filled up to width with pairs that come last
//
// A slice's elements are x[o, i, j]: [outer, length, inner]. The hash is the sum of its elements'
// orders, each mixed with its place; mixing loses nothing, so slices of one element never collide.
// Source of the mixing: Appleby, MurmurHash3 (public domain), its finalizer.

#include "include/ordering.wgsl"

const GROUP = 64u;

struct Params {
  length: u32,
  inner: u32,
  slice_size: u32,
  width: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

fn mixed(word: u32) -> u32 {
  var h = word;
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return h ^ (h >> 16u);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.width) {
    return;
  }
  var hash = 0u;
  if (i < params.length) {
    for (var e = 0u; e < params.slice_size; e++) {
      let place = (e / params.inner * params.length + i) * params.inner + e % params.inner;
      hash += mixed(order_of(load_x(place)) + e * 0x9e3779b9u);
    }
  }
  pairs[i] = vec2<u32>(hash, i);
}
