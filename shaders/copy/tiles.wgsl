// tiles_vec4.wgsl for any sizes and offsets, and for any element
#include "include/copy_tiles.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<T_x>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let along = axis_at(x_rank - 1u);
  let across = axis_at(x_rank - 2u);
  let tile = tile_of(group.x + group.y * groups.x, lane);
  for (var i = tile.across; i < min(tile.across + 16u, across.size); i++) {
    for (var j = tile.along; j < min(tile.along + 4u, along.size); j++) {
      y[tile.start.y + i * across.step_y + j] = x[tile.start.x + j * along.step_x + i];
    }
  }
}
