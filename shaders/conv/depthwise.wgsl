// What DepthwiseConv2dNative and FusedDepthwiseConv2D share. depthwise_plain.wgsl and
// depthwise_bias_and_activation.wgsl give Params and fn finish(sum: Value, at: vec4<u32>) -> Value,
// depthwise_four.wgsl and depthwise_eight.wgsl TILE and fn convolve(i: u32).
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

alias Sum = f32;
alias Value = Sum;
alias Stored = T_y;

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<Stored>;
@group(0) @binding(3) var<uniform> params: Params;

struct Place {
  offset: u32, // of a line in the image, or of an element in its line
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
