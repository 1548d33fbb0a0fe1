// A product (product.wgsl) for GPUs: a workgroup of 8 x DOWN invocations sums 8 * DOWN rows x 64
// columns, each invocation 8 x 8 of them, and reads both operands through workgroup memory, 16
// channels at a time. The columns of an invocation are two fours 32 apart, so that neighbours read
// neighbours. Whoever includes this includes one of product_staged_scalars.wgsl and
// product_staged_vec4.wgsl too.
// Source: Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008.

override DOWN: u32 = 16u; // invocations of a workgroup from top to bottom: 8 or 16
override STAGED_SIZE: u32 = 640u; // DOWN * STAGED_ROWS * STAGED_PITCH; naga 29 fails at the product

const STAGED_ROWS = 8u; // rows of an invocation
const STAGED_ACROSS = 8u; // invocations from left to right
const STAGED_COLS = 64u; // columns of a workgroup
const STAGED_DEPTH = 16u; // channels at a time
const STAGED_PITCH = 5u; // vec4s per row of a; the spare one keeps rows in different memory banks

var<workgroup> staged_a: array<vec4<Sum>, STAGED_SIZE>;
var<workgroup> staged_b: array<vec4<Sum>, 256>;

fn add_staged(strip: ptr<function, Strip>, row: u32, four: u32, b: Fours) {
  let from_a = row * STAGED_PITCH + four;
  add_fours(
    strip,
    staged_a[from_a],
    staged_a[from_a + STAGED_PITCH],
    staged_a[from_a + 2u * STAGED_PITCH],
    staged_a[from_a + 3u * STAGED_PITCH],
    b,
  );
}

fn product_staged(group: u32, lane: u32) {
  let at = block_at(group, DOWN * STAGED_ROWS, STAGED_COLS);
  if (at.batch >= params.batches) {
    return;
  }
  // Reading a: fours of channels, of 2 * DOWN rows at a time.
  let reads_four = lane % 4u;
  let reads_row = lane / 4u;
  let last_row = params.rows - 1u;
  let row0 = row_at(at.batch, min(at.row + reads_row, last_row));
  let row1 = row_at(at.batch, min(at.row + reads_row + 2u * DOWN, last_row));
  let row2 = row_at(at.batch, min(at.row + reads_row + 4u * DOWN, last_row));
  let row3 = row_at(at.batch, min(at.row + reads_row + 6u * DOWN, last_row));
  // Reading b: fours of columns, of DOWN / 2 channels at a time.
  let reads_col = lane % 16u;
  let reads_channel = lane / 16u;
  let columns = staged_columns_at(at.batch, at.col + reads_col * 4u);
  let step = channel_step();
  // Summing.
  let sums_row = lane / STAGED_ACROSS * STAGED_ROWS;
  let sums_col = lane % STAGED_ACROSS;
  var strip0: Strip;
  var strip1: Strip;
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    let place2 = place_at(row2, tap);
    let place3 = place_at(row3, tap);
    let start = tap_start(tap);
    for (var first = at.channel; first < at.channel_end; first += STAGED_DEPTH) {
      let channel = first + reads_four * 4u;
      let to = reads_row * STAGED_PITCH + reads_four;
      let apart = 2u * DOWN * STAGED_PITCH;
      staged_a[to] = stage_row(place0, channel, at.channel_end);
      staged_a[to + apart] = stage_row(place1, channel, at.channel_end);
      staged_a[to + 2u * apart] = stage_row(place2, channel, at.channel_end);
      staged_a[to + 3u * apart] = stage_row(place3, channel, at.channel_end);
      for (var k = reads_channel; k < STAGED_DEPTH; k += DOWN / 2u) {
        var values = vec4<Sum>();
        if (first + k < at.channel_end) {
          values = load_columns(columns, start + (first + k) * step);
        }
        staged_b[k * 16u + reads_col] = values;
      }
      workgroupBarrier();
      for (var four = 0u; four < 4u; four++) {
        let from_b = four * 64u + sums_col;
        let b = Fours(
          staged_b[from_b],
          staged_b[from_b + 8u],
          staged_b[from_b + 16u],
          staged_b[from_b + 24u],
          staged_b[from_b + 32u],
          staged_b[from_b + 40u],
          staged_b[from_b + 48u],
          staged_b[from_b + 56u],
        );
        add_staged(&strip0, sums_row, four, b);
        add_staged(&strip1, sums_row + 4u, four, b);
      }
      workgroupBarrier();
    }
  }
  let left = at.col + sums_col * 4u;
  store_strip(at, at.row + sums_row, left, left + 32u, strip0);
  store_strip(at, at.row + sums_row + 4u, left, left + 32u, strip1);
}
