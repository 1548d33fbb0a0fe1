// A product (product.wgsl) for GPUs: a workgroup sums 64 rows x 64 columns, each invocation 4 x 4 of
// them, and reads both operands through workgroup memory, 16 channels at a time.
// Source: Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008.

const STAGED_SIDE = 16u; // invocations of a workgroup, each way
const STAGED_TILE = 64u; // results of a workgroup, each way
const STAGED_DEPTH = 16u; // channels at a time
const STAGED_PITCH = 17u; // the spare element keeps neighbouring rows in different memory banks

var<workgroup> staged_a: array<Sum, STAGED_TILE * STAGED_PITCH>;
var<workgroup> staged_b: array<Sum, STAGED_DEPTH * STAGED_TILE>;

fn product_staged(group: u32, lane: u32) {
  let at = block_at(group, STAGED_TILE, STAGED_TILE);
  if (at.batch >= params.batches) {
    return;
  }
  // Reading: 16 channels of rows 16 apart; 64 columns of channels 4 apart.
  let reads_k = lane % STAGED_DEPTH;
  let reads_row = lane / STAGED_DEPTH;
  let last_row = params.rows - 1u;
  let row0 = row_at(at.batch, min(at.row + reads_row, last_row));
  let row1 = row_at(at.batch, min(at.row + reads_row + 16u, last_row));
  let row2 = row_at(at.batch, min(at.row + reads_row + 32u, last_row));
  let row3 = row_at(at.batch, min(at.row + reads_row + 48u, last_row));
  let reads_col = lane % STAGED_TILE;
  let reads_b = lane / STAGED_TILE;
  let col = col_at(at.batch, min(at.col + reads_col, params.cols - 1u));
  // Summing: 4 rows and 4 columns next to each other.
  let sums_row = lane / STAGED_SIDE * 4u;
  let sums_col = lane % STAGED_SIDE * 4u;
  var sum0 = vec4<Sum>();
  var sum1 = vec4<Sum>();
  var sum2 = vec4<Sum>();
  var sum3 = vec4<Sum>();
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    let place2 = place_at(row2, tap);
    let place3 = place_at(row3, tap);
    for (var first = at.channel; first < at.channel_end; first += STAGED_DEPTH) {
      let k = first + reads_k;
      if (k < at.channel_end) {
        staged_a[reads_row * STAGED_PITCH + reads_k] = load_a(place0, k);
        staged_a[(reads_row + 16u) * STAGED_PITCH + reads_k] = load_a(place1, k);
        staged_a[(reads_row + 32u) * STAGED_PITCH + reads_k] = load_a(place2, k);
        staged_a[(reads_row + 48u) * STAGED_PITCH + reads_k] = load_a(place3, k);
      }
      stage_b(reads_b, reads_col, col, tap, first, at.channel_end);
      stage_b(reads_b + 4u, reads_col, col, tap, first, at.channel_end);
      stage_b(reads_b + 8u, reads_col, col, tap, first, at.channel_end);
      stage_b(reads_b + 12u, reads_col, col, tap, first, at.channel_end);
      workgroupBarrier();
      let depth = min(STAGED_DEPTH, at.channel_end - first);
      for (var step = 0u; step < depth; step++) {
        let from_b = step * STAGED_TILE + sums_col;
        let b = vec4<Sum>(
          staged_b[from_b], staged_b[from_b + 1u], staged_b[from_b + 2u], staged_b[from_b + 3u],
        );
        let from_a = sums_row * STAGED_PITCH + step;
        sum0 = multiply_add(staged_a[from_a], b, sum0);
        sum1 = multiply_add(staged_a[from_a + STAGED_PITCH], b, sum1);
        sum2 = multiply_add(staged_a[from_a + 2u * STAGED_PITCH], b, sum2);
        sum3 = multiply_add(staged_a[from_a + 3u * STAGED_PITCH], b, sum3);
      }
      workgroupBarrier();
    }
  }
  store4(at, at.row + sums_row, at.col + sums_col, sum0);
  store4(at, at.row + sums_row + 1u, at.col + sums_col, sum1);
  store4(at, at.row + sums_row + 2u, at.col + sums_col, sum2);
  store4(at, at.row + sums_row + 3u, at.col + sums_col, sum3);
}

fn stage_b(step: u32, to: u32, col: u32, tap: u32, first: u32, end: u32) {
  if (first + step < end) {
    staged_b[step * STAGED_TILE + to] = load_b(col + step_at(tap, first + step));
  }
}
