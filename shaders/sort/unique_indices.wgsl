// indices[i] = place of the i-th slice's kind among the kinds; count = how many kinds there are

#include "include/sorted_pairs.wgsl"

const GROUP = 64u;

struct Params {
  indices_size: u32,
  width: u32,
}

@group(0) @binding(0) var<storage, read> firsts: array<i32>;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> indices: array<i32>;
@group(0) @binding(3) var<storage, read_write> count: array<i32>;
@group(0) @binding(4) var<uniform> params: Params;

// How many of the sorted pairs come before `pair`
fn place_of(pair: vec2<u32>) -> u32 {
  var low = 0u;
  var high = params.width;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (comes_first(pairs[middle], pair)) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.indices_size) {
    return;
  }
  indices[i] = i32(place_of(vec2<u32>(1u, u32(firsts[i]))));
  if (i == 0u) {
    count[0] = i32(place_of(vec2<u32>(0u, 0u)));
  }
}
