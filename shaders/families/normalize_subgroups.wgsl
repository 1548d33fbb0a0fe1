// Reduction and map in one, a few lanes of a subgroup per row and part; rows, parts, totals and
// apply are those of normalize_rows. All lanes of a row have its total, and stride through the part
// again to write it.

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
  let base = wk_begin(row);
  let total = wk_settled(wk_team_total(team, row, base));
  if (team.row < wk_rows()) {
    let there = wk_y_begin(row);
    let begin = wk_part_begin(part);
    let end = wk_part_end(begin);
    for (var i = begin + 4u * team.member; i + 4u <= end; i += 4u * team.size) {
      wk_write4(base, there, i, total);
    }
    let ragged = (end - min(begin, end)) % 4u;
    for (var i = end - ragged + team.member; i < end; i += team.size) {
      wk_write(base, there, i, total);
    }
  }
}
