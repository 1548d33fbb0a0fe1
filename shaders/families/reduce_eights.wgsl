// Reduction over leading axes as reduce_columns, but one invocation per eight neighbouring rows
// and part; a line of rows is a multiple of eight. For CPUs: groups are small, so that few rows
// still keep every core busy without a second run over partial results. Errors are those of
// reduce_columns.

const GROUP = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let eights = wk_rows() / 8u;
  let row = wk_run(number, eights) * 8u;
  let part = wk_part(number, eights, id.z);
  let is_there = row < wk_rows() && part < wk_last_part();
  let begin = wk_part_begin(part);
  let end = select(begin, wk_part_end(begin), is_there); // a CPU would mask all after a return
  let totals = wk_across_eight(wk_begin(row), begin, end);
  if (is_there) {
    wk_finish_eight(row, part, totals);
  }
}
