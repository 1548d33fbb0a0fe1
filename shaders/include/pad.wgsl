// y[c] = x[c - before] where that lies in x, else fill; both row-major
//
// An invocation takes `turns` units of y, one after the other, because finding the first is what
// costs. The kernel gives
//
//   const UNIT                         elements of a unit; divides the last axis and its paddings
//   fn move_unit(to: u32, from_x: u32)
//   fn fill_unit(to: u32)

const GROUP = 64u;
const SLOTS = 8u; // axes are padded in front to this many

struct Params {
  units: u32, // of y
  turns: u32,
  x_shape: array<vec4<u32>, 2>,
  y_shape: array<vec4<u32>, 2>,
  before: array<vec4<u32>, 2>,
  fill: T,
}

@group(0) @binding(0) var<uniform> params: Params;

struct Row {
  start: u32, // in x, where the row's padding would begin if x went on before itself
  is_inside: bool,
}

fn row_at(number: u32) -> Row {
  var rest = number;
  var found = Row(0u, true);
  var step = params.x_shape[1].w;
  for (var axis = 1u; axis < x_rank; axis++) {
    let slot = SLOTS - 1u - axis;
    let size = params.y_shape[slot / 4u][slot % 4u];
    let above = rest / size;
    // What lies before x wraps around to a large number
    let place = rest - above * size - params.before[slot / 4u][slot % 4u];
    let length = params.x_shape[slot / 4u][slot % 4u];
    found.is_inside = found.is_inside && place < length;
    found.start += place * step;
    step *= length;
    rest = above;
  }
  return found;
}

fn pad(invocation: u32) {
  let width = params.y_shape[1].w / UNIT;
  let first = invocation * params.turns;
  var line = first / width;
  var k = first - line * width;
  var row = row_at(line);
  for (var unit = first; unit < min(first + params.turns, params.units); unit++) {
    if (k == width) {
      k = 0u;
      line++;
      row = row_at(line);
    }
    let place = k * UNIT - params.before[1].w;
    if (row.is_inside && place < params.x_shape[1].w) {
      move_unit(unit * UNIT, row.start + place);
    } else {
      fill_unit(unit * UNIT);
    }
    k++;
  }
}
