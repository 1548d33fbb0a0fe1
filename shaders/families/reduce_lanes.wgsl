// Reduction, one workgroup per row and part; rows, parts, init and combine are those of
// reduce_rows. The lanes stride through the part and are then combined in a tree, so a sum's error
// is at most 73 units in the last place of the sum of absolute values, twice that where there
// are several parts.

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
  let begin = wk_part_begin(part);
  totals[lane] = wk_strided(wk_begin(row), begin, wk_part_end(begin), lane);
  for (var half = GROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      totals[lane] = combine(totals[lane], totals[lane + half]);
    }
  }
  if (lane == 0u) {
    wk_finish(row, part, totals[0]);
  }
}
