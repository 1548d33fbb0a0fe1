// A matrix product whose operands the kernel reads as it likes:
//
//   y[batch, row, col] = sum over tap and channel of a[batch, row, tap, channel] *
//                                                    b[batch, tap, channel, col]
//
// product_registers.wgsl sums it, product_vec4.wgsl and product_vec4_rows.wgsl do where the operands
// lie in fours, and product_staged.wgsl does on GPUs. The kernel that includes one of them gives
//
//   params.batches, rows, cols, taps, channels   the sizes
//   params.tap_block, channel_block              the taps and channels that one invocation sums;
//                                                the rest goes to further parts
//   params.across                                invocations of a workgroup along a row
//   struct Row; fn row_at(batch: u32, row: u32) -> Row
//   struct Place; fn place_at(row: Row, tap: u32) -> Place
//   fn load_a(place: Place, channel: u32) -> Sum
//   fn col_at(batch: u32, col: u32) -> u32
//   fn tap_start(tap: u32) -> u32
//   fn channel_step() -> u32
//   fn load_b(index: u32) -> Sum                 at col_at() + tap_start() + channel * channel_step()
//   fn store(part: u32, batch: u32, row: u32, col: u32, value: Sum)
//
// Where columns and results lie in fours, it includes product_fours.wgsl. It includes sum_f32.wgsl,
// or has its own alias Sum and multiply_add. Rows and columns past the end are read as
// the last one and not stored, so every index stays inside.
#include "include/product_strip.wgsl"

const GROUP = 32u; // invocations of a workgroup, of those in registers
const TILE_COLS = 8u; // columns that an invocation sums

struct Block {
  batch: u32,
  part: u32,
  row: u32,
  col: u32,
  tap: u32,
  tap_end: u32,
  channel: u32,
  channel_end: u32,
}

fn parts_of(whole: u32, block: u32) -> u32 {
  return (whole + block - 1u) / block;
}

// Where workgroup `group` works, if each covers `rows` x `cols` results.
fn block_at(group: u32, rows: u32, cols: u32) -> Block {
  let across = parts_of(params.cols, cols);
  let down = parts_of(params.rows, rows);
  let channel_parts = parts_of(params.channels, params.channel_block);
  let parts = channel_parts * parts_of(params.taps, params.tap_block);
  let band = group / across;
  let layer = band / down;
  let part = layer % parts;
  let tap = part / channel_parts * params.tap_block;
  let channel = part % channel_parts * params.channel_block;
  return Block(
    layer / parts,
    part,
    band % down * rows,
    group % across * cols,
    tap,
    min(tap + params.tap_block, params.taps),
    channel,
    min(channel + params.channel_block, params.channels),
  );
}

// Where invocation `lane` of it works, if each sums HEIGHT x TILE_COLS results.
fn tile_at(group: u32, lane: u32) -> Block {
  var at = block_at(group, GROUP / params.across * HEIGHT, params.across * TILE_COLS);
  at.row += lane / params.across * HEIGHT;
  at.col += lane % params.across * TILE_COLS;
  return at;
}

fn is_outside(at: Block) -> bool {
  return at.batch >= params.batches || at.row >= params.rows || at.col >= params.cols;
}
