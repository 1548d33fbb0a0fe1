// y[r * row + start + k] = x[r * block + k]        x: [rows, block]   y: [rows, row]
//
// An invocation moves `turns` units, one after the other, because finding the first is what costs.
// The kernel gives
//
//   const UNIT                         elements of a unit; divides block, row and start
//   fn move_unit(to: u32, from_x: u32)

const GROUP = 64u;

struct Params {
  units: u32, // of x
  turns: u32,
  block: u32,
  row: u32,
  start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn copy_block(invocation: u32) {
  let width = params.block / UNIT;
  let first = invocation * params.turns;
  var line = first / width;
  var k = first - line * width;
  for (var unit = first; unit < min(first + params.turns, params.units); unit++) {
    if (k == width) {
      k = 0u;
      line++;
    }
    move_unit(line * params.row + params.start + k * UNIT, unit * UNIT);
    k++;
  }
}
