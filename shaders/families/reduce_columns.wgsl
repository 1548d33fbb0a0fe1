// Reduction over leading axes, one invocation per four neighbouring rows and part, so that
// neighbouring invocations load neighbouring elements; rows, parts, init and combine are those of
// reduce_rows. The last four of a line of rows whose length is no multiple of four overlap
// those before; each row is still written once. A sum's error is at most 256 units in the last
// place of the sum of absolute values, and 165 more where there are several parts.

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
  let is_there = row < wk_rows() && part < wk_last_part();
  let begin = wk_part_begin(part);
  let end = select(begin, wk_part_end(begin), is_there); // a CPU would mask all after a return
  let totals = wk_across(wk_begin(row), begin, end);
  if (is_there) {
    wk_finish_fours(row, part, done, totals);
  }
}
