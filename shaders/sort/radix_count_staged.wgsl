// counts[row, digit, part] = how many of the part's pairs have that digit, by a workgroup
#include "include/radix.wgsl"

const GROUP = 256u; // as many lanes as digits

var<workgroup> found: array<atomic<u32>, DIGITS>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let part = part_of(group.x + group.y * groups.x);
  if (part.row >= params.rows) { // the same for the whole group
    return;
  }
  atomicStore(&found[lane], 0u);
  workgroupBarrier();
  for (var i = lane; i < part.size; i += GROUP) {
    atomicAdd(&found[digit_of(pairs[part.begin + i].x)], 1u);
  }
  workgroupBarrier();
  counts[part.counts + lane * params.parts] = atomicLoad(&found[lane]);
}
