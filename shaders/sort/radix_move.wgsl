// moved[row, place] = pair, the place being what `counts` has for the pair's digit and part
#include "include/radix.wgsl"

const GROUP = 16u;

@group(0) @binding(3) var<storage, read_write> moved: array<vec2<u32>>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let part = part_of(id.x + id.y * groups.x * GROUP);
  if (part.row >= params.rows) {
    return;
  }
  for (var i = 0u; i < params.part_size; i++) { // as often for all, which costs less
    if (i < part.size) {
      let pair = pairs[part.begin + i];
      let count = count_of(part, pair.x);
      let place = counts[count];
      counts[count] = place + 1u;
      moved[part.row * params.length + place] = pair;
    }
  }
}
