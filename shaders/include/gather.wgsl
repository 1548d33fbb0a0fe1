// y[b, o, r, k] = x[b, o, indices[b, r], k]
// x: [batch, outer, length, inner]   indices: [batch, rows]   y: [batch, outer, rows, inner]
//
// An invocation takes `turns` units of y, one after the other, because finding the first is what
// costs. The kernel gives
//
//   const UNIT                         elements of a unit; divides `inner`
//   fn move_unit(to: u32, from_x: u32)
//   fn clear_unit(to: u32)

const GROUP = 64u;

struct Params {
  units: u32, // of y
  turns: u32,
  outer: u32,
  length: u32,
  rows: u32,
  inner: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn gather(invocation: u32) {
  let width = params.inner / UNIT;
  let first = invocation * params.turns;
  var line = first / width; // of y
  var k = first - line * width;
  var at = -1;
  for (var turn = 0u; turn < params.turns; turn++) {
    if (k == width) {
      k = 0u;
      line++;
    }
    if (first + turn < params.units) {
      let block = line / params.rows; // b and o together
      if (turn == 0u || k == 0u) {
        at = load_indices(block / params.outer * params.rows + line % params.rows);
      }
      let to = (first + turn) * UNIT;
      if (at < 0 || u32(at) >= params.length) {
        report_index(at);
        clear_unit(to);
      } else {
        move_unit(to, (block * params.length + u32(at)) * params.inner + k * UNIT);
      }
    }
    k++;
  }
}
