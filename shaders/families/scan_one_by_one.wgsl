// Scan: an invocation takes a part of a row, element by element; neighbours take neighbouring rows.
// A result is at most part_size + parts combinations from its elements.

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let invocation = id.x + id.y * groups.x * WK_GROUP;
  let part = wk_part_at(invocation % wk_params.wk_rows, invocation / wk_params.wk_rows);
  if (part.number >= wk_params.wk_parts) {
    return;
  }
  var total = wk_total_before(part.row, part.number);
  for (var k = 0u; k < wk_params.wk_part_size; k++) { // as often for all, which costs less
    let number = part.begin + k;
    if (number < part.end) {
      let i = wk_index(part, number);
      let next = wk_join(total, wk_load(i), wk_along_axis(number));
      wk_store(i, wk_result(total, next, number));
      total = next;
    }
  }
}
