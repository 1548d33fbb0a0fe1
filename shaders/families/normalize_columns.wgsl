// Reduction over leading axes and map in one, one invocation per four neighbouring rows and part;
// rows, parts, totals and apply are those of normalize_rows, the fours those of reduce_columns.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let fours = (wk_inner() + 3u) / 4u;
  let all_fours = wk_rows() / wk_inner() * fours;
  let four = number % all_fours;
  let part = number / all_fours;
  if (part >= wk_last_part()) {
    return;
  }
  let column = min(four % fours * 4u, wk_inner() - 4u);
  let done = four % fours * 4u - column;
  let row = four / fours * wk_inner() + column;
  let base = wk_begin(row);
  let found = wk_totals(row, base);
  let totals = array<wk_Settled, 4>(
    wk_settled(found[0]), wk_settled(found[1]), wk_settled(found[2]), wk_settled(found[3])
  );
  let there = wk_y_begin(row);
  let begin = wk_part_begin(part);
  let end = wk_part_end(begin);
  for (var i = begin; i < end; i++) {
    wk_write_across(base, there, i, done, totals);
  }
}
