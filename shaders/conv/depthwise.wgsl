// A depthwise convolution. depthwise_bias_and_activation.wgsl has another Params and finish;
// depthwise_fours.wgsl takes channels that lie in fours.
//
// An invocation sums TILE places of a line, three elements of the window's line at a time, so that
// what it reads of x serves up to three times. Place t and element q read x at t * step +
// q * dilation, so the same as place t + spread and element q - turns, if spread * step = turns *
// dilation: these are the places that an invocation takes and the elements that it takes together.
// x may be a view, its channels may stand before the image (NCHW), and so do y's then. Large
// windows are summed in parts: y is then [parts * batch, ..]. What would cost divisions is a
// constant of the pipeline.

const GROUP = 64u;
const LANES = 1u; // channels of a Value

override channels_first = false;
override is_whole = true; // whether there is one part only
override multiplier = 1u; // channels of y per channel of x
override turns = 1u;
override spread = 1u;
override TILE = 4u; // 4, or 8 for adapters where each read costs more than registers do

alias Sum = f32;
alias Value = Sum;
alias Stored = T_y;

struct Params {
  places: vec2<u32>,
  image: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<i32>, // below 0 where the padding of a gradient is
  x_strides: vec4<u32>,
  out_strides: vec4<u32>, // of what this dispatch writes of y
  x_offset: u32,
  out_offset: u32,
  batch: u32,
  depth: u32, // channels of y
  filter_steps: vec2<u32>, // from one row of the window to the next, and from one element
  filter_start: u32,
  apart: u32, // elements of x from one place of an invocation to its next
  chunks: u32, // groups of three elements per turn
  part_rows: u32, // lines of the window that a part sums
  part_chunks: u32, // groups of three elements that it sums of each
  tiles: u32, // along a line
  invocations: u32,
}

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<Stored>;
@group(0) @binding(3) var<uniform> params: Params;

struct Place {
  offset: u32, // of a line in the image, or of an element in its line
  inside: bool,
}

// Four places of a line, where they read x.
struct FourColumns {
  column0: Place,
  column1: Place,
  column2: Place,
  column3: Place,
}

// What belongs to them: what they read, or their sums.
struct Four {
  value0: Value,
  value1: Value,
  value2: Value,
  value3: Value,
}

struct Columns {
  near: FourColumns,
  far: FourColumns, // of eight places
}

struct Tile {
  near: Four,
  far: Four,
}

struct Part {
  row: u32, // of the window
  row_end: u32,
  chunk: u32,
  chunk_end: u32,
}

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, channels_first);
}

fn part_at(image: u32) -> Part {
  let chunks = params.chunks * turns;
  if (is_whole) {
    return Part(0u, params.window.x, 0u, chunks);
  }
  let number = image / params.batch;
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

// The first of the three elements that a chunk stands for.
fn element_of(chunk: u32) -> u32 {
  if (turns == 1u) {
    return chunk * 3u;
  }
  return chunk / params.chunks + chunk % params.chunks * turns * 3u;
}

fn place_at(at: i32, size: u32, step: u32) -> Place {
  let inside = u32(at) < size; // what is negative has become large
  return Place(select(0u, u32(at) * step, inside), inside);
}

fn line_at(at: i32) -> Place {
  return place_at(at, params.image.x, steps_of(params.x_strides).y);
}

fn column_at(at: i32) -> Place {
  return place_at(at, params.image.y, steps_of(params.x_strides).z);
}

fn load_x(image: u32, line: Place, column: Place) -> Value {
  let value = Value(x[(image + line.offset + column.offset) / LANES]);
  return select(Value(), value, line.inside && column.inside);
}

fn load_filter(at: u32) -> Value {
  return Value(filter_[at / LANES]);
}

fn finish(sum: Value, at: vec4<u32>) -> Value {
  return sum;
}

// `at`: image or part of it, line, place, channel.
fn store(at: vec4<u32>, sum: Value) {
  if (at.z < params.places.y) {
    let terms = at * steps_of(params.out_strides);
    let start = params.out_offset + terms.x + terms.y + terms.z + terms.w;
    y[start / LANES] = Stored(finish(sum, at));
  }
}

// The image or part of it, line, tile and channel of an invocation; neighbours are next to each
// other in memory.
fn place_of(i: u32) -> vec4<u32> {
  let depth = params.depth / LANES;
  if (channels_first) {
    let line = i / params.tiles;
    let plane = line / params.places.x;
    return vec4<u32>(plane / depth, line % params.places.x, i % params.tiles, plane % depth);
  }
  let tile = i / depth;
  let line = tile / params.tiles;
  let image = line / params.places.x;
  return vec4<u32>(image, line % params.places.x, tile % params.tiles, i % depth);
}

fn four_columns_at(at: i32, apart: i32) -> FourColumns {
  return FourColumns(
    column_at(at),
    column_at(at + apart),
    column_at(at + apart * 2),
    column_at(at + apart * 3),
  );
}

fn load_four(image: u32, line: Place, columns: FourColumns) -> Four {
  return Four(
    load_x(image, line, columns.column0),
    load_x(image, line, columns.column1),
    load_x(image, line, columns.column2),
    load_x(image, line, columns.column3),
  );
}

fn load_tile(image: u32, line: Place, columns: Columns) -> Tile {
  let near = load_four(image, line, columns.near);
  if (TILE == 4u) {
    return Tile(near, Four());
  }
  return Tile(near, load_four(image, line, columns.far));
}

fn add_four(weight: Value, x: Four, sum: Four) -> Four {
  return Four(
    fma(weight, x.value0, sum.value0),
    fma(weight, x.value1, sum.value1),
    fma(weight, x.value2, sum.value2),
    fma(weight, x.value3, sum.value3),
  );
}

fn add_tile(weight: Value, x: Tile, sum: Tile) -> Tile {
  let near = add_four(weight, x.near, sum.near);
  if (TILE == 4u) {
    return Tile(near, Four());
  }
  return Tile(near, add_four(weight, x.far, sum.far));
}

fn moved_four(x: Four, last: Value) -> Four {
  return Four(x.value1, x.value2, x.value3, last);
}

// What the places read with the next element of the window: each what the one behind it has read.
fn moved(x: Tile, last: Value) -> Tile {
  if (TILE == 4u) {
    return Tile(moved_four(x.near, last), Four());
  }
  return Tile(moved_four(x.near, x.far.value0), moved_four(x.far, last));
}

fn store_four(at: vec4<u32>, sum: Four) {
  store(at, sum.value0);
  store(at + vec4<u32>(0u, 0u, spread, 0u), sum.value1);
  store(at + vec4<u32>(0u, 0u, spread * 2u, 0u), sum.value2);
  store(at + vec4<u32>(0u, 0u, spread * 3u, 0u), sum.value3);
}

// Without arrays and loops over the places, so that drivers keep all in registers.
fn convolve(i: u32) {
  if (i >= params.invocations) {
    return;
  }
  let place = place_of(i);
  let channel = place.w * LANES;
  let first = place.z / spread * spread * TILE + place.z % spread;
  let part = part_at(place.x);
  var number = place.x;
  if (!is_whole) {
    number %= params.batch;
  }
  let steps = steps_of(params.x_strides);
  let image = params.x_offset + number * steps.x + channel / multiplier * steps.w;
  let corner = vec2<i32>(vec2<u32>(place.y, first) * params.step) - params.before;
  let apart = i32(params.apart);
  let next = params.filter_steps.y * turns;
  var sum = Tile();
  for (var chunk = part.chunk; chunk < part.chunk_end; chunk++) {
    let element = element_of(chunk);
    if (element >= params.window.y) {
      continue;
    }
    let has_second = element + turns < params.window.y;
    let has_third = element + turns * 2u < params.window.y;
    let at = corner.y + i32(element * params.dilation.y);
    let columns = Columns(four_columns_at(at, apart), four_columns_at(at + apart * 4, apart));
    let beyond = column_at(at + apart * i32(TILE));
    let further = column_at(at + apart * i32(TILE + 1u));
    let start_of_filter = params.filter_start + element * params.filter_steps.y + channel;
    for (var row = part.row; row < part.row_end; row++) {
      let line = line_at(corner.x + i32(row * params.dilation.x));
      let x = load_tile(image, line, columns);
      let tap = start_of_filter + row * params.filter_steps.x;
      sum = add_tile(load_filter(tap), x, sum);
      if (has_second) {
        let second = moved(x, load_x(image, line, beyond));
        sum = add_tile(load_filter(tap + next), second, sum);
        if (has_third) {
          let third = moved(second, load_x(image, line, further));
          sum = add_tile(load_filter(tap + next * 2u), third, sum);
        }
      }
    }
  }
  store_four(vec4<u32>(place.xy, first, channel), sum.near);
  if (TILE > 4u) {
    store_four(vec4<u32>(place.xy, first + spread * 4u, channel), sum.far);
  }
}
