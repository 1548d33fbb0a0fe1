// y[i, k] = on where indices[i] is k, else off        indices: any shape   y: [..., depth]
//
// An invocation takes `turns` units of y, one after the other, because finding the first is what
// costs. A unit is UNIT neighbouring elements of a row.

const GROUP = 64u;
const UNIT = 1u;

struct Params {
  units: u32, // of y
  turns: u32,
  depth: u32,
  on: T_y,
  off: T_y,
}

@group(0) @binding(0) var<uniform> params: Params;

fn write_unit(to: u32, k: u32, chosen: u32) {
  store_y(to, select(params.off, params.on, k == chosen));
}

fn one_hot(invocation: u32) {
  let width = params.depth / UNIT;
  let first = invocation * params.turns;
  var row = first / width;
  var k = first - row * width;
  var chosen = 0u;
  for (var unit = first; unit < min(first + params.turns, params.units); unit++) {
    if (k == width) {
      k = 0u;
      row++;
    }
    if (unit == first || k == 0u) {
      chosen = u32(load_indices(row)); // a negative index becomes one past every depth
    }
    write_unit(unit * UNIT, k * UNIT, chosen);
    k++;
  }
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  one_hot(id.x + id.y * groups.x * GROUP);
}
