// pairs[row, part, i] = (order of x[row, j], j) with j = part * part_size + i, in parts filled up to
// width with pairs that come last
//
// A workgroup writes up to CHUNK pairs of a part, so that only it divides, not each pair.

#include "include/ordering.wgsl"

const GROUP = 64u;
const CHUNK = 1024u;

struct Params {
  rows: u32,
  length: u32, // of a row of x
  parts: u32, // of a row
  part_size: u32,
  width: u32,
  chunks: u32, // of a part
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  let part = number / params.chunks;
  let row = part / params.parts;
  if (row >= params.rows) {
    return;
  }
  let first = number % params.chunks * CHUNK;
  let start = part % params.parts * params.part_size;
  for (var i = first + lane; i < min(first + CHUNK, params.width); i += GROUP) {
    let j = start + i;
    if (i < params.part_size && j < params.length) {
      pairs[part * params.width + i] = vec2<u32>(order_of(load_x(row * params.length + j)), j);
    } else {
      pairs[part * params.width + i] = vec2<u32>(0u, 0xffffffffu);
    }
  }
}
