// A product (product.wgsl) in registers alone, for adapters whose workgroup memory is no faster
// than any other: each invocation sums 4 rows x 8 columns. Written out, because some drivers stop
// an invocation after 65,535 iterations summed over all of its loops.

fn product_in_registers(group: u32, lane: vec2<u32>) {
  let at = block_at(group, SIDE * TILE_ROWS, SIDE * TILE_COLS);
  let along = select(lane, lane.yx, params.cols < params.rows); // neighbours on the longer side
  let row = at.row + along.y * TILE_ROWS;
  let col = at.col + along.x * TILE_COLS;
  if (at.batch >= params.batches || row >= params.rows || col >= params.cols) {
    return;
  }
  let last_row = params.rows - 1u;
  let row0 = row_at(at.batch, row);
  let row1 = row_at(at.batch, min(row + 1u, last_row));
  let row2 = row_at(at.batch, min(row + 2u, last_row));
  let row3 = row_at(at.batch, min(row + 3u, last_row));
  let last_col = params.cols - 1u;
  let col0 = col_at(at.batch, col);
  let col1 = col_at(at.batch, min(col + 1u, last_col));
  let col2 = col_at(at.batch, min(col + 2u, last_col));
  let col3 = col_at(at.batch, min(col + 3u, last_col));
  let col4 = col_at(at.batch, min(col + 4u, last_col));
  let col5 = col_at(at.batch, min(col + 5u, last_col));
  let col6 = col_at(at.batch, min(col + 6u, last_col));
  let col7 = col_at(at.batch, min(col + 7u, last_col));
  var sum00 = vec4<Sum>();
  var sum01 = vec4<Sum>();
  var sum10 = vec4<Sum>();
  var sum11 = vec4<Sum>();
  var sum20 = vec4<Sum>();
  var sum21 = vec4<Sum>();
  var sum30 = vec4<Sum>();
  var sum31 = vec4<Sum>();
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    let place2 = place_at(row2, tap);
    let place3 = place_at(row3, tap);
    for (var channel = at.channel; channel < at.channel_end; channel++) {
      let step = step_at(tap, channel);
      let b0 = vec4<Sum>(
        load_b(col0 + step), load_b(col1 + step), load_b(col2 + step), load_b(col3 + step),
      );
      let b1 = vec4<Sum>(
        load_b(col4 + step), load_b(col5 + step), load_b(col6 + step), load_b(col7 + step),
      );
      let a0 = load_a(place0, channel);
      sum00 = multiply_add(a0, b0, sum00);
      sum01 = multiply_add(a0, b1, sum01);
      let a1 = load_a(place1, channel);
      sum10 = multiply_add(a1, b0, sum10);
      sum11 = multiply_add(a1, b1, sum11);
      let a2 = load_a(place2, channel);
      sum20 = multiply_add(a2, b0, sum20);
      sum21 = multiply_add(a2, b1, sum21);
      let a3 = load_a(place3, channel);
      sum30 = multiply_add(a3, b0, sum30);
      sum31 = multiply_add(a3, b1, sum31);
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
