// Scan: a workgroup takes a part of a row in tiles through its memory: a lane combines wk_run
// neighbours, the lanes' totals are scanned, the tiles follow one another. A result is at most
// wk_run + 7 + part_size / WK_TILE + parts / WK_GROUP + 7 combinations from its elements.
// Source: Hillis and Steele, Data Parallel Algorithms, 1986 (the scan of the lanes' totals).

const WK_GROUP = 128u;

@compute @workgroup_size(WK_GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  let part = wk_part_at(number / wk_params.wk_parts, number % wk_params.wk_parts);
  if (part.row >= wk_params.wk_rows) { // the same for the whole group
    return;
  }
  let each = (part.number + WK_GROUP - 1u) / WK_GROUP;
  let until = min((lane + 1u) * each, part.number);
  var carry = wk_combined(wk_totals_between(part.row, lane * each, until), lane);
  for (var first = part.begin; first < part.end; first += WK_TILE) {
    wk_load_tile(part, first, lane);
    wk_ends[lane] = wk_run_total(lane);
    workgroupBarrier();
    for (var step = 1u; step < WK_GROUP; step *= 2u) {
      var moved = wk_ends[lane];
      if (lane >= step) {
        moved = combine(wk_ends[lane - step], moved);
      }
      workgroupBarrier();
      wk_ends[lane] = moved;
      workgroupBarrier();
    }
    var running = carry;
    if (lane > 0u) {
      running = combine(carry, wk_ends[lane - 1u]);
    }
    carry = combine(carry, wk_ends[WK_GROUP - 1u]);
    for (var k = lane * wk_run; k < lane * wk_run + wk_run; k++) {
      let next = combine(running, wk_tile[k]);
      if (wk_exclusive) {
        wk_tile[k] = running;
      } else {
        wk_tile[k] = next;
      }
      running = next;
    }
    workgroupBarrier();
    for (var k = lane; k < WK_TILE; k += WK_GROUP) {
      if (first + k < part.end) {
        wk_store(wk_index(part, first + k), wk_result(wk_tile[k], wk_tile[k], first + k));
      }
    }
    workgroupBarrier();
  }
}
