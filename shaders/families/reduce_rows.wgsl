// Reduction, one invocation per row and part: y[row] = finish(combine over i of lift(x[row, i])).
//
// The kernel gives init and combine; the composer gives wk_total, wk_finish and the sizes. A row
// is one element of y; a part is a run of at most 16,384 of its elements, and rows of several
// parts take a second run over the partial results. A sum's error is at most 165 units in the
// last place of the sum of absolute values, twice that where there are several parts.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let row = wk_run(number, wk_rows());
  let part = wk_part(number, wk_rows(), id.z);
  let is_there = row < wk_rows() && part < wk_last_part();
  let begin = wk_part_begin(part);
  let end = select(begin, wk_part_end(begin), is_there); // a CPU would mask all after a return
  let total = wk_along(wk_begin(row), begin, end);
  if (is_there) {
    wk_finish(row, part, total);
  }
}
