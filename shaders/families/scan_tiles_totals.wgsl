// The totals of a scan's parts: a workgroup takes a part in tiles through its memory.

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
  var total = init();
  for (var first = part.begin; first < part.end; first += WK_TILE) {
    wk_load_tile(part, first, lane);
    total = combine(total, wk_combined(wk_run_total(lane), lane));
  }
  if (lane == 0u) {
    wk_store_total(part.row, part.number, total);
  }
}
