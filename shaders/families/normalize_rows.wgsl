// Reduction and map in one, one invocation per row and part: y[row, i] = apply(x[row, i], total)
// with total = combine over i of lift(x[row, i]).
//
// The kernel gives init, combine and apply, and settle, if what apply is given is to be made of a
// row's total once; the composer gives wk_total, wk_write and the sizes.
// A row has one total; a part is a run of at most 16,384 of its elements, and where there are
// several, wk_total joins the totals that an earlier run of reduce_rows has left. Sums are as
// accurate as there.
//
// Sixteen elements are read before any is written: neighbouring invocations' rows begin a power of
// two apart, so the lines that they read and write push each other out of a CPU's first cache.

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
  for (; i + 16u <= end; i += 16u) {
    let x0 = wk_quad(base, i);
    let x1 = wk_quad(base, i + 4u);
    let x2 = wk_quad(base, i + 8u);
    let x3 = wk_quad(base, i + 12u);
    let y0 = wk_applied(x0, i, total);
    let y1 = wk_applied(x1, i + 4u, total);
    let y2 = wk_applied(x2, i + 8u, total);
    let y3 = wk_applied(x3, i + 12u, total);
    wk_put(there, i, y0);
    wk_put(there, i + 4u, y1);
    wk_put(there, i + 8u, y2);
    wk_put(there, i + 12u, y3);
  }
  for (; i + 4u <= end; i += 4u) {
    wk_write4(base, there, i, total);
  }
  for (; i < end; i++) {
    wk_write(base, there, i, total);
  }
}
