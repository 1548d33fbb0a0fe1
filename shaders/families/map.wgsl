// Map: y[i] = op(x[i], ...). The kernel gives `fn op`; the composer gives wk_item, which loads
// the operands of one item, calls op and stores the result, and wk_items, how many there are.
// An item is one element, or four where all arrays are bound as vec4.
//
// The loop lets a grid of any size cover all items; grids past 65,535 groups fold into two
// dimensions. An invocation must stay below 65,535 items (drivers stop longer loops silently).
//
// 2^bits invocations that follow one another share a run of items, so that they touch memory from
// front to back; where that is more than the grid has, all of it walks over all items together.

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP;
  let all = groups.x * groups.y * GROUP;
  let bits = wk_run_bits();
  let step = min(1u << bits, all);
  let length = (wk_items() + all - 1u) / all * step;
  let begin = (number >> bits) * length;
  let end = min(begin + length, wk_items());
  for (var i = begin + (number & ((1u << bits) - 1u)); i < end; i += step) {
    wk_item(i);
  }
}
