// counts[row, digit, part] = how many of the part's pairs have that digit
#include "include/radix.wgsl"

const GROUP = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let part = part_of(id.x + id.y * groups.x * GROUP);
  if (part.row >= params.rows) {
    return;
  }
  for (var digit = 0u; digit < DIGITS; digit++) {
    counts[part.counts + digit * params.parts] = 0u;
  }
  for (var i = 0u; i < params.part_size; i++) { // as often for all, which costs less
    if (i < part.size) {
      counts[count_of(part, pairs[part.begin + i].x)] += 1u;
    }
  }
}
