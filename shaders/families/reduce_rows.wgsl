// Reduction, one invocation per row and part: y[row] = finish(combine over i of lift(x[row, i])).
//
// The kernel gives init and combine; the composer gives wk_lift, wk_finish and the sizes. A row
// is one element of y; a part is a run of at most 16,384 of its elements, and rows of several
// parts take a second run over the partial results. Neighbouring invocations have neighbouring
// rows, which suits reductions over leading axes. Elements are combined in blocks of 128, the
// blocks one after the other: at most 128 + 128 steps, so a sum's error is at most 256 units in
// the last place of the sum of absolute values, twice that where there are several parts. It
// takes fewer loop turns than the 65,535 after which some drivers stop silently.

const GROUP = 64u;
const BLOCK = 128u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  let row = number % wk_rows();
  let part = wk_first_part() + number / wk_rows();
  if (part >= wk_last_part()) {
    return;
  }
  let base = wk_base(row);
  let begin = part * wk_part_size();
  let end = min(begin + wk_part_size(), wk_length());
  var total = init();
  for (var first = begin; first < end; first += BLOCK) {
    var block = init();
    for (var i = first; i < min(first + BLOCK, end); i++) {
      block = combine(block, wk_lift(base, i));
    }
    total = combine(total, block);
  }
  wk_finish(row, part, total);
}
