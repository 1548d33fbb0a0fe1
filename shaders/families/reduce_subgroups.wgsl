// Reduction, a few lanes of a subgroup per row and part; rows, parts, init and combine are those of
// reduce_rows. A sum's error is at most 140 units in the last place of the sum of absolute values,
// twice that where there are several parts.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) index: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(num_subgroups) subgroups: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let number = group.x + group.y * groups.x; // grids past 65,535 groups fold into two dimensions
  let team = wk_team(wk_Place(number, index, size, subgroups, subgroup, lane), GROUP);
  let row = min(team.row, wk_rows() - 1u); // lanes past the end stay, as an exchange wants all
  let part = wk_first_part() + group.z;
  let begin = wk_part_begin(part);
  let total = wk_by_team(team, wk_begin(row), begin, wk_part_end(begin));
  if (team.row < wk_rows() && team.member == 0u) {
    wk_finish(row, part, total);
  }
}
