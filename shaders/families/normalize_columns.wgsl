// Reduction over leading axes and map in one, one invocation per four neighbouring rows and part;
// rows, parts, totals and apply are those of normalize_rows, the fours those of reduce_columns.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let four = wk_run(number, wk_all_fours());
  let part = wk_part(number, wk_all_fours(), id.z);
  let line = wk_line(four);
  let first = (four - line * wk_fours()) * 4u;
  let column = min(first, wk_inner() - 4u);
  let done = first - column;
  let row = line * wk_inner() + column;
  if (row >= wk_rows() || part >= wk_last_part()) {
    return;
  }
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
