// y[p, q, c, o] = sum over n, i, j of x[n, i * step + p * dilation - before, .. j, q .., c] *
//                                     dy[n, i, j, o], with zeros around x
//
// A product: rows are (p, q, c), taps (n, i), channels j, columns o. x and dy may be views, their
// channels may stand before the image (NCHW).
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
  x_strides: vec4<u32>,
  dy_strides: vec4<u32>,
  x_offset: u32,
  dy_offset: u32,
  channels_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read> dy: array<T_dy>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

struct Row {
  start: u32, // of the channel
  from_corner: vec2<i32>, // where the first window reads; may lie outside
}

struct Place {
  start: u32, // of a line of the image
  x: i32,
  inside: bool,
}

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

fn row_at(batch: u32, row: u32) -> Row {
  let depth = params.rows / (params.window.x * params.window.y);
  let tap = row / depth;
  let element = vec2<u32>(tap / params.window.y, tap % params.window.y);
  return Row(
    params.x_offset + row % depth * steps_of(params.x_strides).w,
    vec2<i32>(element * params.dilation) - vec2<i32>(params.before),
  );
}

fn place_at(row: Row, tap: u32) -> Place {
  let line = u32(row.from_corner.x + i32(tap % params.places.x * params.step.x));
  let inside = line < params.image.x; // what is negative has become large
  let steps = steps_of(params.x_strides);
  let start = row.start + tap / params.places.x * steps.x;
  return Place(start + select(0u, line * steps.y, inside), row.from_corner.y, inside);
}

fn load_a(place: Place, channel: u32) -> Sum {
  let at = u32(place.x + i32(channel * params.step.y));
  let inside = place.inside && at < params.image.y;
  let value = Sum(x[place.start + select(0u, at * steps_of(params.x_strides).z, inside)]);
  return select(Sum(), value, inside);
}

fn col_at(batch: u32, col: u32) -> u32 {
  return params.dy_offset + col * steps_of(params.dy_strides).w;
}

fn tap_start(tap: u32) -> u32 {
  let steps = steps_of(params.dy_strides);
  return tap / params.places.x * steps.x + tap % params.places.x * steps.y;
}

fn channel_step() -> u32 {
  return steps_of(params.dy_strides).z;
}

fn load_b(index: u32) -> Sum {
  return Sum(dy[index]);
}

fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum) {
  store_y(part * params.part_size + row * params.cols + col, T_y(value));
}

// Where the out channels lie in fours.
fn store_four(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  store4_y(at.part * params.part_size + row * params.cols + col, vec4<T_y>(values));
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
