// A product (product.wgsl) in registers alone whose operands lie in fours, a's along its rows: each
// invocation sums 4 rows x 8 columns. Written out, like product_registers.wgsl.
//
// The kernel gives besides
//   fn load_a4(place: Place, channel: u32) -> vec4<Sum>   4 rows; rows are a multiple of 4
//   fn load_b4(index: u32) -> vec4<Sum>                   4 columns; columns are a multiple of 4

fn product_in_vec4_rows(group: u32, lane: vec2<u32>) {
  let at = block_at(group, SIDE * TILE_ROWS, SIDE * TILE_COLS);
  let along = select(lane, lane.yx, params.cols < params.rows); // neighbours on the longer side
  let row = at.row + along.y * TILE_ROWS;
  let col = at.col + along.x * TILE_COLS;
  if (at.batch >= params.batches || row >= params.rows || col >= params.cols) {
    return;
  }
  let row0 = row_at(at.batch, row);
  let col0 = col_at(at.batch, col);
  let col4 = col_at(at.batch, min(col + 4u, params.cols - 4u));
  var sum00 = vec4<Sum>();
  var sum01 = vec4<Sum>();
  var sum10 = vec4<Sum>();
  var sum11 = vec4<Sum>();
  var sum20 = vec4<Sum>();
  var sum21 = vec4<Sum>();
  var sum30 = vec4<Sum>();
  var sum31 = vec4<Sum>();
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place = place_at(row0, tap);
    for (var channel = at.channel; channel < at.channel_end; channel++) {
      let step = step_at(tap, channel);
      let b0 = load_b4(col0 + step);
      let b1 = load_b4(col4 + step);
      let a = load_a4(place, channel);
      sum00 = multiply_add(a.x, b0, sum00);
      sum01 = multiply_add(a.x, b1, sum01);
      sum10 = multiply_add(a.y, b0, sum10);
      sum11 = multiply_add(a.y, b1, sum11);
      sum20 = multiply_add(a.z, b0, sum20);
      sum21 = multiply_add(a.z, b1, sum21);
      sum30 = multiply_add(a.w, b0, sum30);
      sum31 = multiply_add(a.w, b1, sum31);
    }
  }
  store4(at, row, col, sum00);
  store4(at, row, col + 4u, sum01);
  store4(at, row + 1u, col, sum10);
  store4(at, row + 1u, col + 4u, sum11);
  store4(at, row + 2u, col, sum20);
  store4(at, row + 2u, col + 4u, sum21);
  store4(at, row + 3u, col, sum30);
  store4(at, row + 3u, col + 4u, sum31);
}
