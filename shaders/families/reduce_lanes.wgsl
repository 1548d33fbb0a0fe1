// Reduction, one workgroup per row and part: y[row] = finish(combine over i of lift(x[row, i])).
//
// The kernel gives init and combine; the composer gives wk_lift, wk_finish and the sizes. A row
// is one element of y; a part is a run of at most 16,384 of its elements, and rows of several
// parts take a second run of this skeleton over the partial results. The lanes stride through
// the part, at most 256 elements each, and are then combined in a tree. So a sum's error is at
// most (256 + 6 + parts/64 + 6) units in the last place of the sum of absolute values, the last
// two terms only where there are several parts.

const GROUP = 64u;

var<workgroup> totals: array<wk_Total, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x; // grids past 65,535 groups fold into two dimensions
  let parts = wk_last_part() - wk_first_part();
  let row = number / parts;
  let part = wk_first_part() + number % parts;
  if (row >= wk_rows()) { // the same for the whole group
    return;
  }
  let base = wk_base(row);
  let begin = part * wk_part_size();
  let end = min(begin + wk_part_size(), wk_length());
  var total = init();
  for (var i = begin + lane; i < end; i += GROUP) {
    total = combine(total, wk_lift(base, i));
  }
  totals[lane] = total;
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
