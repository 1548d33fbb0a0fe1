// Scan: an invocation takes a part of a row, four elements at a time. The elements of a row lie
// side by side and begin at a multiple of 4. A result is at most part_size / 4 + 3 + parts
// combinations from its elements.

const WK_GROUP = 16u;

@compute @workgroup_size(WK_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let invocation = id.x + id.y * groups.x * WK_GROUP;
  let part = wk_part_at(invocation % wk_params.wk_rows, invocation / wk_params.wk_rows);
  if (part.number >= wk_params.wk_parts) {
    return;
  }
  let stretch = wk_stretch(part);
  let steps = wk_steps(stretch);
  var total = wk_total_before(part.row, part.number);
  for (var step = 0u; step < steps; step++) {
    let four = wk_four(part, stretch, step, steps);
    let pair = combine(four.a, four.b);
    let one = combine(total, four.a);
    let two = combine(total, pair);
    let three = combine(total, combine(pair, four.c));
    let next = combine(total, combine(pair, combine(four.c, four.d)));
    let found = vec4<T_y>(
      wk_result(total, one, four.number), wk_result(one, two, four.number + 1u),
      wk_result(two, three, four.number + 2u), wk_result(three, next, four.number + 3u),
    );
    wk_store4(four.i, select(found, found.wzyx, wk_backward));
    total = next;
  }
}
