// What DepthwiseConv2dNative and FusedDepthwiseConv2D share. Whoever includes this has Params and
// fn finish(sum: Value, at: vec4<u32>) -> Value.
//
// An invocation sums TILE places of a line, three elements of the window's line at a time, so that
// what it reads of x serves up to three times. Place t and element q read x at t * step + q * dilation,
// so the same as place t + spread and element q - turns, if spread * step = turns * dilation: these
// are the places that an invocation takes and the elements that it takes together. x may be a view,
// its channels may stand before the image (NCHW), and so do y's then. Large windows are summed in
// parts: y is then [parts * batch, ..].

const GROUP = 64u;
const TILE = 4u;
const LANES = 1u; // channels of a Value

alias Sum = f32;
alias Value = Sum;
alias Stored = T_y;

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<Stored>;
@group(0) @binding(3) var<uniform> params: Params;

struct Column {
  offset: u32, // in its line
  inside: bool,
}

struct Part {
  row: u32, // of the window
  row_end: u32,
  chunk: u32,
  chunk_end: u32,
}

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

fn part_at(number: u32) -> Part {
  let chunks = params.chunks * params.turns;
  let across = (chunks + params.part_chunks - 1u) / params.part_chunks;
  let row = number / across * params.part_rows;
  let chunk = number % across * params.part_chunks;
  return Part(
    row,
    min(row + params.part_rows, params.window.x),
    chunk,
    min(chunk + params.part_chunks, chunks),
  );
}

fn column_at(place: i32) -> Column {
  let at = u32(place); // what is negative becomes large
  let inside = at < params.image.y;
  return Column(select(0u, at * steps_of(params.x_strides).z, inside), inside);
}

fn load_x(line: u32, at: Column) -> Value {
  return select(Value(), Value(x[(line + at.offset) / LANES]), at.inside);
}

fn load_filter(tap: u32, channel: u32) -> Value {
  let last = params.window.x * params.window.y - 1u;
  let from_end = select(tap, last - tap, params.turned != 0u);
  return Value(filter_[(from_end * params.depth + channel) / LANES]);
}

// `at`: image or part of it, line, place, channel.
fn store(at: vec4<u32>, sum: Value) {
  if (at.z < params.places.y) {
    let terms = at * steps_of(params.y_strides);
    y[(terms.x + terms.y + terms.z + terms.w) / LANES] = Stored(finish(sum, at));
  }
}

// The image or part of it, line, tile and channel of an invocation; neighbours are next to each
// other in memory.
fn place_of(i: u32) -> vec4<u32> {
  let depth = params.depth / LANES;
  if (params.channels_first != 0u) {
    let line = i / params.tiles;
    let plane = line / params.places.x;
    return vec4<u32>(plane / depth, line % params.places.x, i % params.tiles, plane % depth);
  }
  let tile = i / depth;
  let line = tile / params.tiles;
  let image = line / params.places.x;
  return vec4<u32>(image, line % params.places.x, tile % params.tiles, i % depth);
}

fn convolve(i: u32) {
  if (i >= params.invocations) {
    return;
  }
  let place = place_of(i);
  let channel = place.w * LANES;
  let first = place.z / params.spread * params.spread * TILE + place.z % params.spread;
  let part = part_at(place.x / params.batch);
  let steps = steps_of(params.x_strides);
  let image = params.x_offset + place.x % params.batch * steps.x +
    channel / params.multiplier * steps.w;
  let corner = vec2<i32>(vec2<u32>(place.y, first) * params.step) - params.before;
  let apart = i32(params.apart);
  var sum0 = Value();
  var sum1 = Value();
  var sum2 = Value();
  var sum3 = Value();
  for (var chunk = part.chunk; chunk < part.chunk_end; chunk++) {
    let element = chunk / params.chunks + chunk % params.chunks * params.turns * 3u;
    if (element >= params.window.y) {
      continue;
    }
    let has_second = element + params.turns < params.window.y;
    let has_third = element + params.turns * 2u < params.window.y;
    let at = corner.y + i32(element * params.dilation.y);
    let column0 = column_at(at);
    let column1 = column_at(at + apart);
    let column2 = column_at(at + apart * 2);
    let column3 = column_at(at + apart * 3);
    let column4 = column_at(at + apart * 4);
    let column5 = column_at(at + apart * 5);
    for (var row = part.row; row < part.row_end; row++) {
      let line = u32(corner.x + i32(row * params.dilation.x));
      if (line >= params.image.x) {
        continue;
      }
      let start = image + line * steps.y;
      let x0 = load_x(start, column0);
      let x1 = load_x(start, column1);
      let x2 = load_x(start, column2);
      let x3 = load_x(start, column3);
      let tap = row * params.window.y + element;
      let weight = load_filter(tap, channel);
      sum0 = fma(weight, x0, sum0);
      sum1 = fma(weight, x1, sum1);
      sum2 = fma(weight, x2, sum2);
      sum3 = fma(weight, x3, sum3);
      if (has_second) {
        let x4 = load_x(start, column4);
        let second = load_filter(tap + params.turns, channel);
        sum0 = fma(second, x1, sum0);
        sum1 = fma(second, x2, sum1);
        sum2 = fma(second, x3, sum2);
        sum3 = fma(second, x4, sum3);
        if (has_third) {
          let x5 = load_x(start, column5);
          let third = load_filter(tap + params.turns * 2u, channel);
          sum0 = fma(third, x2, sum0);
          sum1 = fma(third, x3, sum1);
          sum2 = fma(third, x4, sum2);
          sum3 = fma(third, x5, sum3);
        }
      }
    }
  }
  store(vec4<u32>(place.xy, first, channel), sum0);
  store(vec4<u32>(place.xy, first + params.spread, channel), sum1);
  store(vec4<u32>(place.xy, first + params.spread * 2u, channel), sum2);
  store(vec4<u32>(place.xy, first + params.spread * 3u, channel), sum3);
}
