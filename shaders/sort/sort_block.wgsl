// Bitonic sort of pairs, the part that fits workgroup memory: within each block of a row, the
// merges of sizes first_size to last_size, of those larger than a block the last steps only.
//
// pairs: [rows, width], width a power of two; a row's block is min(width, BLOCK) long.
// Source: Batcher, Sorting Networks and Their Applications, 1968.

#include "include/sorted_pairs.wgsl"

const GROUP = 128u;
const BLOCK = 1024u;

struct Params {
  width: u32,
  blocks: u32, // over all rows
  first_size: u32,
  last_size: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

var<workgroup> block: array<vec2<u32>, BLOCK>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.blocks) { // the same for the whole group
    return;
  }
  let count = min(params.width, BLOCK);
  let begin = number * count;
  let place = begin % params.width; // of the block's first pair in its row
  for (var i = lane; i < count; i += GROUP) {
    block[i] = pairs[begin + i];
  }
  for (var size = params.first_size; size <= params.last_size; size *= 2u) {
    for (var step = min(size, count) / 2u; step > 0u; step /= 2u) {
      workgroupBarrier();
      for (var i = lane; i < count / 2u; i += GROUP) {
        let low = i / step * step * 2u + i % step;
        let forward = ((place + low) & size) == 0u;
        let a = block[low];
        let b = block[low + step];
        if (comes_first(a, b) != forward) {
          block[low] = b;
          block[low + step] = a;
        }
      }
    }
  }
  workgroupBarrier();
  for (var i = lane; i < count; i += GROUP) {
    pairs[begin + i] = block[i];
  }
}
