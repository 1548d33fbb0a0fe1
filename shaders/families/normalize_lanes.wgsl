// Reduction and map in one, one workgroup per row and part; rows, parts, totals and apply are those
// of normalize_rows. The lanes stride through the row, are combined in a tree, and stride through
// the part again to write it.

const GROUP = 64u;

var<workgroup> totals: array<wk_Total, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = group.x + group.y * groups.x; // grids past 65,535 groups fold into two dimensions
  let part = wk_first_part() + group.z;
  if (row >= wk_rows()) { // the same for the whole group
    return;
  }
  let base = wk_begin(row);
  totals[lane] = wk_lane_total(row, base, lane);
  for (var half = GROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      totals[lane] = combine(totals[lane], totals[lane + half]);
    }
  }
  workgroupBarrier();
  let total = wk_settled(totals[0]);
  let there = wk_y_begin(row);
  let begin = wk_part_begin(part);
  let end = wk_part_end(begin);
  for (var i = begin + 4u * lane; i + 4u <= end; i += 4u * GROUP) {
    wk_write4(base, there, i, total);
  }
  let ragged = (end - min(begin, end)) % 4u;
  if (lane < ragged) {
    wk_write(base, there, end - ragged + lane, total);
  }
}
