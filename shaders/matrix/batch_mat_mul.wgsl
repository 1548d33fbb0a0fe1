// y[.., i, j] = sum over k of a[.., i, k] * b[.., k, j]; either may be a view, so transposed
// operands need no copy, and broadcast ones have strides of 0.
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
  y_steps: vec2<u32>, // from one row of y to the next, and from one column
  a_offset: u32,
  b_offset: u32,
  batch_shape: array<vec4<u32>, 2>,
  a_strides: array<vec4<u32>, 2>,
  b_strides: array<vec4<u32>, 2>,
}

@group(0) @binding(0) var<storage, read> a: array<T_a>;
@group(0) @binding(1) var<storage, read> b: array<T_b>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

const LAST_BATCH_AXIS = 5u; // 6 and 7 are a matrix's rows and columns

struct Row {
  start: u32,
}

struct Place {
  start: u32,
}

fn row_at(batch: u32, row: u32) -> Row {
  var start = params.a_offset + row * params.a_strides[1].z;
  var rest = batch;
  for (var axis = LAST_BATCH_AXIS; rest > 0u; axis--) {
    let length = params.batch_shape[axis / 4u][axis % 4u];
    start += rest % length * params.a_strides[axis / 4u][axis % 4u];
    rest /= length;
  }
  return Row(start);
}

fn place_at(row: Row, tap: u32) -> Place {
  return Place(row.start);
}

fn load_a(place: Place, channel: u32) -> Sum {
  return Sum(a[place.start + channel * params.a_strides[1].w]);
}

fn col_at(batch: u32, col: u32) -> u32 {
  var start = params.b_offset + col * params.b_strides[1].w;
  var rest = batch;
  for (var axis = LAST_BATCH_AXIS; rest > 0u; axis--) {
    let length = params.batch_shape[axis / 4u][axis % 4u];
    start += rest % length * params.b_strides[axis / 4u][axis % 4u];
    rest /= length;
  }
  return start;
}

fn step_at(tap: u32, channel: u32) -> u32 {
  return channel * params.b_strides[1].z;
}

fn load_b(index: u32) -> Sum {
  return Sum(b[index]);
}

fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum) {
  let first = part * params.part_size + batch * params.rows * params.cols;
  y[first + row * params.y_steps.x + col * params.y_steps.y] = T_y(value);
}

@compute @workgroup_size(SIDE, SIDE)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) lane: vec3<u32>,
) {
  product_in_registers(id.x + id.y * groups.x, lane.xy);
}
