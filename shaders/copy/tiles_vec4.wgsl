// y = x, row-major, where x lies side by side along another axis than y; in fours along both
#include "include/copy_tiles.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_x>>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let along = axis_at(x_rank - 1u);
  let across = axis_at(x_rank - 2u);
  let tile = tile_of(group.x + group.y * groups.x, lane);
  if (tile.along >= along.size) {
    return;
  }
  let from_x = tile.start.x + tile.along * along.step_x;
  for (var i = tile.across; i < min(tile.across + 16u, across.size); i += 4u) {
    let a = x[(from_x + i) / 4u];
    let b = x[(from_x + along.step_x + i) / 4u];
    let c = x[(from_x + 2u * along.step_x + i) / 4u];
    let d = x[(from_x + 3u * along.step_x + i) / 4u];
    let to_y = tile.start.y + i * across.step_y + tile.along;
    y[to_y / 4u] = vec4<T_x>(a.x, b.x, c.x, d.x);
    y[(to_y + across.step_y) / 4u] = vec4<T_x>(a.y, b.y, c.y, d.y);
    y[(to_y + 2u * across.step_y) / 4u] = vec4<T_x>(a.z, b.z, c.z, d.z);
    y[(to_y + 3u * across.step_y) / 4u] = vec4<T_x>(a.w, b.w, c.w, d.w);
  }
}
