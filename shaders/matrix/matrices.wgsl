// What BatchMatMul and _FusedMatMul share: stacks of matrices as a product (product.wgsl). Either
// operand may be a view, so transposed ones need no copy, and broadcast ones have strides of 0.
// Whoever includes this has Params,
// fn finish(sum: Sum, i: u32) -> Sum and fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum>.
#include "include/product.wgsl"
#include "include/sum_f32.wgsl"

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
  step: u32,
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
  return Place(row.start, params.a_strides[1].w);
}

fn load_a(place: Place, channel: u32) -> Sum {
  return Sum(a[place.start + channel * place.step]);
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

fn tap_start(tap: u32) -> u32 {
  return 0u;
}

fn channel_step() -> u32 {
  return params.b_strides[1].z;
}

fn load_b(index: u32) -> Sum {
  return Sum(b[index]);
}

fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum) {
  let first = batch * params.rows * params.cols;
  let i = first + row * params.y_steps.x + col * params.y_steps.y;
  store_y(part * params.part_size + i, T_y(finish(value, i)));
}

// Where the columns of y lie in fours.
fn store_four(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  let i = at.batch * params.rows * params.cols + row * params.cols + col;
  store4_y(at.part * params.part_size + i, vec4<T_y>(finish4(values, i)));
}
