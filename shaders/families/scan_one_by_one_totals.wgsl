// The totals of a scan's parts: an invocation takes a part, element by element.

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let invocation = id.x + id.y * groups.x * WK_GROUP;
  let part = wk_part_at(invocation % wk_params.wk_rows, invocation / wk_params.wk_rows);
  if (part.number >= wk_params.wk_parts) {
    return;
  }
  var total = init();
  for (var k = 0u; k < wk_params.wk_part_size; k++) { // as often for all, which costs less
    let number = part.begin + k;
    if (number < part.end) {
      total = wk_join(total, wk_load(wk_index(part, number)), wk_along_axis(number));
    }
  }
  wk_store_total(part.row, part.number, total);
}
