// y[n, i, j, c] = sum over p, q, o of dy[n, (i + before - p * dilation) / step, .. j, q .., o] *
//                                     filter[p, q, c, o], over whole quotients inside dy
//
// A product: rows are (n, i, j) of the image, taps (p, q), columns c. dy may be a view, its
// channels may stand before the places (NCHW), and so do y's then.
#include "include/product.wgsl"
#include "include/product_registers.wgsl"
#include "include/sum_f32.wgsl"

struct Params {
  batches: u32,
  rows: u32,
  cols: u32,
  taps: u32,
  channels: u32,
  tap_block: u32,
  channel_block: u32,
  part_size: u32,
  across: u32,
  image: vec2<u32>,
  places: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<u32>,
  dy_strides: vec4<u32>,
  dy_offset: u32,
  channels_first: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<T_dy>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

struct Row {
  start: u32, // of dy's image
  last: vec2<i32>, // where a window at 0, 0 would read with its first element
}

struct Place {
  start: u32,
  inside: bool,
}

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

fn row_at(batch: u32, row: u32) -> Row {
  let line = row / params.image.y;
  return Row(
    params.dy_offset + line / params.image.x * params.dy_strides.x,
    vec2<i32>(vec2<u32>(line % params.image.x, row % params.image.y) + params.before),
  );
}

fn place_at(row: Row, tap: u32) -> Place {
  let back = vec2<u32>(tap / params.window.y, tap % params.window.y) * params.dilation;
  let reach = row.last - vec2<i32>(back);
  let at = vec2<u32>(max(reach, vec2<i32>(0))) / params.step;
  let whole = all(reach >= vec2<i32>(0)) && all(at * params.step == vec2<u32>(reach));
  let inside = whole && all(at < params.places);
  let steps = steps_of(params.dy_strides);
  return Place(row.start + select(0u, at.x * steps.y + at.y * steps.z, inside), inside);
}

fn load_a(place: Place, channel: u32) -> Sum {
  let value = Sum(dy[place.start + channel * steps_of(params.dy_strides).w]);
  return select(Sum(), value, place.inside);
}

fn col_at(batch: u32, col: u32) -> u32 {
  return col * params.channels;
}

fn tap_start(tap: u32) -> u32 {
  return tap * params.cols * params.channels;
}

fn channel_step() -> u32 {
  return 1u;
}

fn load_b(index: u32) -> Sum {
  return Sum(filter_[index]);
}

fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum) {
  let area = params.image.x * params.image.y;
  let channels_last = row * params.cols + col;
  let channels_first = (row / area * params.cols + col) * area + row % area;
  let i = select(channels_last, channels_first, params.channels_first != 0u);
  store_y(part * params.part_size + i, T_y(value));
}

// Where the channels of y come last and lie in fours.
fn store_four(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  let i = row * params.cols + col;
  store4_y(at.part * params.part_size + i, vec4<T_y>(values));
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
