// Scan: an invocation takes a part of four neighbouring rows: wk_inner is a multiple of 4. A result
// is at most part_size + parts combinations from its elements.

const WK_GROUP = 64u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let invocation = id.x + id.y * groups.x * WK_GROUP;
  let fours = wk_params.wk_rows / 4u;
  let part = wk_part_at(invocation % fours * 4u, invocation / fours);
  if (part.number >= wk_params.wk_parts) {
    return;
  }
  var a = wk_total_before(part.row, part.number);
  var b = wk_total_before(part.row + 1u, part.number);
  var c = wk_total_before(part.row + 2u, part.number);
  var d = wk_total_before(part.row + 3u, part.number);
  for (var k = 0u; k < wk_params.wk_part_size; k++) { // as often for all, which costs less
    let number = part.begin + k;
    if (number < part.end) {
      let i = wk_index(part, number);
      let at = wk_along_axis(number);
      let values = wk_load4(i);
      let next_a = wk_join(a, values.x, at);
      let next_b = wk_join(b, values.y, at);
      let next_c = wk_join(c, values.z, at);
      let next_d = wk_join(d, values.w, at);
      wk_store4(i, vec4<T_y>(
        wk_result(a, next_a, number), wk_result(b, next_b, number),
        wk_result(c, next_c, number), wk_result(d, next_d, number),
      ));
      a = next_a;
      b = next_b;
      c = next_c;
      d = next_d;
    }
  }
}
