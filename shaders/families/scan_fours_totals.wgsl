// The totals of a scan's parts: an invocation takes a part, four elements at a time.

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
  var total = init();
  for (var step = 0u; step < steps; step++) {
    let four = wk_four(part, stretch, step, steps);
    total = combine(total, combine(combine(four.a, four.b), combine(four.c, four.d)));
  }
  wk_store_total(part.row, part.number, total);
}
