// y = x, row-major, where x lies side by side along another axis than y: a workgroup moves a tile
// through its memory, so that both the reads and the writes run along lines. The spare column keeps
// neighbours in different memory banks.
// Source: Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA, NVIDIA, 2009.
#include "include/copy.wgsl"

const TILE = 32u;
const LINES = 8u; // that a workgroup moves at a time

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<T_x>;

var<workgroup> tile: array<array<T_x, TILE + 1u>, TILE>;

@compute @workgroup_size(TILE, LINES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) lane: vec3<u32>,
) {
  let along = axis_at(x_rank - 1u);
  let across = axis_at(x_rank - 2u);
  let wide = (along.size + TILE - 1u) / TILE;
  let high = (across.size + TILE - 1u) / TILE;
  let number = group.x + group.y * groups.x;
  let corner = number / (wide * high);
  if (corner >= params.corners) { // the same for the whole group
    return;
  }
  let start = corner_of(corner, 2u);
  let first_i = number / wide % high * TILE;
  let first_j = number % wide * TILE;

  for (var line = lane.y; line < TILE; line += LINES) {
    let i = first_i + lane.x;
    let j = first_j + line;
    if (i < across.size && j < along.size) {
      tile[line][lane.x] = x[start.x + j * along.step_x + i];
    }
  }
  workgroupBarrier();

  for (var line = lane.y; line < TILE; line += LINES) {
    let i = first_i + line;
    let j = first_j + lane.x;
    if (i < across.size && j < along.size) {
      y[start.y + i * across.step_y + j] = tile[lane.x][line];
    }
  }
}
