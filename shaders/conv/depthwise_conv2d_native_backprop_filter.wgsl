// y[p, q, c, m] = sum over n, i, j of x[n, i * step + p * dilation - before, .. j, q .., c] *
//                                     dy[n, i, j, c * multiplier + m], with zeros around x
//
// An invocation sums three elements of a line of y over a part of the places: element q reads x at
// j * step + q * dilation, so the same as element q + turns at j - spread, if spread * step =
// turns * dilation. These are the elements that an invocation takes together, and the places that
// it takes one after another, so that it reads x once for all three. x and dy may be views, their
// channels may stand before the image (NCHW).

const GROUP = 64u;
const LANES = 1u; // channels of a Value

alias Sum = f32;
alias Value = Sum;
alias Stored = T_y;

struct Params {
  places: vec2<u32>,
  image: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<u32>,
  x_strides: vec4<u32>,
  dy_strides: vec4<u32>,
  x_offset: u32,
  dy_offset: u32,
  channels_first: u32,
  depth: u32, // channels of dy
  multiplier: u32, // of them per channel of x
  turns: u32, // see above
  spread: u32,
  apart: u32,
  chunks: u32, // groups of three elements per turn
  lines: u32, // of dy, over all images
  part_lines: u32, // that a part sums
  part_columns: u32, // places that it sums of each
  invocations: u32,
}

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> dy: array<T_dy>;
@group(0) @binding(2) var<storage, read_write> y: array<Stored>;
@group(0) @binding(3) var<uniform> params: Params;

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

struct Line {
  start: u32,
  inside: bool,
}

fn load_x(line: Line, place: i32) -> Value {
  let at = u32(place); // what is negative becomes large
  let inside = line.inside && at < params.image.y;
  let offset = select(0u, at * steps_of(params.x_strides).z, inside);
  return select(Value(), Value(x[(line.start + offset) / LANES]), inside);
}

fn store(part: u32, row: u32, element: u32, channel: u32, sum: Value) {
  if (element < params.window.y) {
    let tap = (part * params.window.x + row) * params.window.y + element;
    y[(tap * params.depth + channel) / LANES] = Stored(sum);
  }
}

fn gather_filter(i: u32) {
  if (i >= params.invocations) {
    return;
  }
  let depth = params.depth / LANES;
  let channel = i % depth * LANES;
  let number = i / depth; // of the group of three, over all lines of y and parts
  let chunks = params.chunks * params.turns;
  let chunk = number % chunks;
  let element = chunk / params.chunks + chunk % params.chunks * params.turns * 3u;
  let row = number / chunks % params.window.x;
  let part = number / chunks / params.window.x;
  let across = (params.places.y + params.part_columns - 1u) / params.part_columns;
  let column = part % across * params.part_columns;
  let column_end = min(column + params.part_columns, params.places.y);
  let first = part / across * params.part_lines;
  let line_end = min(first + params.part_lines, params.lines);
  let x_steps = steps_of(params.x_strides);
  let dy_steps = steps_of(params.dy_strides);
  let x_start = params.x_offset + channel / params.multiplier * x_steps.w;
  let dy_start = params.dy_offset + channel * dy_steps.w;
  let shift = i32(element * params.dilation.y) - i32(params.before.y);
  let apart = i32(params.apart);
  var sum0 = Value();
  var sum1 = Value();
  var sum2 = Value();
  for (var line = first; line < line_end; line++) {
    let image = line / params.places.x;
    let at = line % params.places.x;
    let above = u32(i32(at * params.step.x + row * params.dilation.x) - i32(params.before.x));
    let inside = above < params.image.x;
    let x_at = x_start + image * x_steps.x + select(0u, above * x_steps.y, inside);
    let x_line = Line(x_at, inside);
    let dy_at = dy_start + image * dy_steps.x + at * dy_steps.y;
    for (var begin = column; begin < min(column + params.spread, column_end); begin++) {
      var place = i32(begin * params.step.y) + shift;
      var x0 = load_x(x_line, place);
      var x1 = load_x(x_line, place + apart);
      for (var j = begin; j < column_end; j += params.spread) {
        let x2 = load_x(x_line, place + apart * 2);
        let d = Value(dy[(dy_at + j * dy_steps.z) / LANES]);
        sum0 = fma(x0, d, sum0);
        sum1 = fma(x1, d, sum1);
        sum2 = fma(x2, d, sum2);
        x0 = x1;
        x1 = x2;
        place += apart;
      }
    }
  }
  store(part, row, element, channel, sum0);
  store(part, row, element + params.turns, channel, sum1);
  store(part, row, element + params.turns * 2u, channel, sum2);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  gather_filter(id.x + id.y * groups.x * GROUP);
}
