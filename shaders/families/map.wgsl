// Map: y[i] = op(x[i], ...). The kernel gives `fn op`; the composer gives wk_item, which loads
// the operands of one item, calls op and stores the result, and wk_items, how many there are.
// An item is one element, or four where all arrays are bound as vec4.
//
// The loop lets a grid of any size cover all items; grids past 65,535 groups fold into two
// dimensions. An invocation must stay below 65,535 items (drivers stop longer loops silently).

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let first = id.x + id.y * groups.x * GROUP;
  let step = groups.x * groups.y * GROUP;
  for (var i = first; i < wk_items(); i += step) {
    wk_item(i);
  }
}
