// Bitonic sort of pairs, one step over the whole of every row: pairs `step` apart are put in order,
// forward or backward by the half of `size` that they lie in.
//
// pairs: [rows, width], width a power of two. Source: as sort_block.wgsl.

#include "include/sorted_pairs.wgsl"

const GROUP = 64u;

struct Params {
  width: u32,
  exchanges: u32, // half the number of pairs, over all rows
  size: u32,
  step: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.exchanges) {
    return;
  }
  let low = i / params.step * params.step * 2u + i % params.step;
  let forward = ((low % params.width) & params.size) == 0u;
  let a = pairs[low];
  let b = pairs[low + params.step];
  if (comes_first(a, b) != forward) {
    pairs[low] = b;
    pairs[low + params.step] = a;
  }
}
