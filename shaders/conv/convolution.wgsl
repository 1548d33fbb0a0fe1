// What Conv2D and FusedConv2D share: a convolution as a product (product.wgsl). Rows are (n, i, j),
// taps (p, q), columns o. x may be a view, its channels may stand before the image (NCHW), and so do
// y's then. Whoever includes this has Params,
// fn finish(sum: Sum, i: u32) -> Sum and fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum>.
#include "include/product.wgsl"
#include "include/sum_f32.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

struct Row {
  start: u32, // of the image
  corner: vec2<i32>, // of the window in it; may lie outside
}

struct Place {
  start: u32, // of channel 0, even if that is outside
  low: u32, // the first channel inside the image
  count: u32, // of those inside
}

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

fn row_at(batch: u32, row: u32) -> Row {
  let line = row / params.places.y;
  let place = vec2<u32>(line % params.places.x, row % params.places.y);
  return Row(
    params.x_offset + line / params.places.x * params.x_strides.x,
    vec2<i32>(place * params.step) - vec2<i32>(params.before),
  );
}

// params.line is 0, or the channels of one element: then `channels` are those of a whole line of the
// window, which lie next to each other.
fn place_at(row: Row, tap: u32) -> Place {
  let from_corner = vec2<u32>(tap / params.window.y, tap % params.window.y) * params.dilation;
  let at = row.corner + vec2<i32>(from_corner);
  let steps = steps_of(params.x_strides);
  let start = row.start + u32(at.x) * steps.y + u32(at.y) * steps.z;
  let depth = select(params.line, params.channels, params.line == 0u);
  let low = u32(max(-at.y, 0)) * depth;
  let end = u32(max(i32(params.image.y) - at.y, 0)) * depth;
  let inside = u32(at.x) < params.image.x && low < end; // what is negative has become large
  return Place(start, low, select(0u, end - low, inside));
}

fn load_a(place: Place, channel: u32) -> Sum {
  let inside = channel - place.low < place.count;
  let index = place.start + channel * steps_of(params.x_strides).w;
  return select(Sum(), Sum(x[select(0u, index, inside)]), inside);
}

fn col_at(batch: u32, col: u32) -> u32 {
  return col;
}

fn tap_start(tap: u32) -> u32 {
  return tap * params.channels * params.cols;
}

fn channel_step() -> u32 {
  return params.cols;
}

fn load_b(index: u32) -> Sum {
  return Sum(filter_[index]);
}

fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum) {
  let area = params.places.x * params.places.y;
  let channels_last = row * params.cols + col;
  let channels_first = (row / area * params.cols + col) * area + row % area;
  let i = select(channels_last, channels_first, params.channels_first != 0u);
  store_y(part * params.part_size + i, T_y(finish(value, i)));
}

// Where the channels of y come last and lie in fours.
fn store_four(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  let i = row * params.cols + col;
  store4_y(at.part * params.part_size + i, vec4<T_y>(finish4(values, i)));
}
