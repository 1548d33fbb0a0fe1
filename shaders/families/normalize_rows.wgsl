// Reduction and map in one, one invocation per row and part: y[row, i] = apply(x[row, i], total)
// with total = combine over i of lift(x[row, i]).
//
// The kernel gives init, combine and apply, and settle, if what apply is given is to be made of a
// row's total once; the composer gives wk_total, wk_write and the sizes.
// A row has one total; a part is a run of at most 16,384 of its elements, and where there are
// several, wk_total joins the totals that an earlier run of reduce_rows has left. Sums are as
// accurate as there.
//
// Eight elements are read before any is written: where neighbouring invocations' rows begin a power
// of two apart, the lines that they read and write push each other out of a CPU's first cache. Of
// sixteen the results no longer fit into its registers.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let row = wk_run(number, wk_rows());
  let part = wk_part(number, wk_rows(), id.z);
  if (row >= wk_rows() || part >= wk_last_part()) {
    return;
  }
  let base = wk_begin(row);
  let total = wk_settled(wk_total(row, base));
  let there = wk_y_begin(row);
  let begin = wk_part_begin(part);
  let end = wk_part_end(begin);
  var i = begin;
  for (; i + 8u <= end; i += 8u) {
    let near = wk_quad(base, i);
    let far = wk_quad(base, i + 4u);
    wk_put(there, i, wk_applied(near, i, total));
    wk_put(there, i + 4u, wk_applied(far, i + 4u, total));
  }
  for (; i + 4u <= end; i += 4u) {
    wk_write4(base, there, i, total);
  }
  for (; i < end; i++) {
    wk_write(base, there, i, total);
  }
}
