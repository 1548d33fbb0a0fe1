// The totals of a scan's parts: an invocation takes a part of four neighbouring rows.

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let invocation = id.x + id.y * groups.x * WK_GROUP;
  let fours = wk_params.wk_rows / 4u;
  let part = wk_part_at(invocation % fours * 4u, invocation / fours);
  if (part.number >= wk_params.wk_parts) {
    return;
  }
  var a = init();
  var b = init();
  var c = init();
  var d = init();
  for (var k = 0u; k < wk_params.wk_part_size; k++) { // as often for all, which costs less
    let number = part.begin + k;
    if (number < part.end) {
      let at = wk_along_axis(number);
      let values = wk_load4(wk_index(part, number));
      a = wk_join(a, values.x, at);
      b = wk_join(b, values.y, at);
      c = wk_join(c, values.z, at);
      d = wk_join(d, values.w, at);
    }
  }
  wk_store_total(part.row, part.number, a);
  wk_store_total(part.row + 1u, part.number, b);
  wk_store_total(part.row + 2u, part.number, c);
  wk_store_total(part.row + 3u, part.number, d);
}
