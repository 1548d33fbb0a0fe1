// A product (product.wgsl) in registers alone whose operands lie in fours: each invocation sums 4 rows
// x 8 columns, 4 channels at a time. Written out, like product_registers.wgsl.
//
// The kernel gives besides
//   fn load_a4(place: Place, channel: u32) -> vec4<Sum>   4 channels; channels are a multiple of 4
//   fn load_b4(index: u32) -> vec4<Sum>                   4 columns; columns are a multiple of 4

fn product_in_vec4(group: u32, lane: vec2<u32>) {
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
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    let place2 = place_at(row2, tap);
    let place3 = place_at(row3, tap);
    for (var channel = at.channel; channel < at.channel_end; channel += 4u) {
      let a0 = load_a4(place0, channel);
      let a1 = load_a4(place1, channel);
      let a2 = load_a4(place2, channel);
      let a3 = load_a4(place3, channel);
      let step0 = step_at(tap, channel);
      let b00 = load_b4(col0 + step0);
      let b01 = load_b4(col4 + step0);
      sum00 = multiply_add(a0.x, b00, sum00);
      sum01 = multiply_add(a0.x, b01, sum01);
      sum10 = multiply_add(a1.x, b00, sum10);
      sum11 = multiply_add(a1.x, b01, sum11);
      sum20 = multiply_add(a2.x, b00, sum20);
      sum21 = multiply_add(a2.x, b01, sum21);
      sum30 = multiply_add(a3.x, b00, sum30);
      sum31 = multiply_add(a3.x, b01, sum31);
      let step1 = step_at(tap, channel + 1u);
      let b10 = load_b4(col0 + step1);
      let b11 = load_b4(col4 + step1);
      sum00 = multiply_add(a0.y, b10, sum00);
      sum01 = multiply_add(a0.y, b11, sum01);
      sum10 = multiply_add(a1.y, b10, sum10);
      sum11 = multiply_add(a1.y, b11, sum11);
      sum20 = multiply_add(a2.y, b10, sum20);
      sum21 = multiply_add(a2.y, b11, sum21);
      sum30 = multiply_add(a3.y, b10, sum30);
      sum31 = multiply_add(a3.y, b11, sum31);
      let step2 = step_at(tap, channel + 2u);
      let b20 = load_b4(col0 + step2);
      let b21 = load_b4(col4 + step2);
      sum00 = multiply_add(a0.z, b20, sum00);
      sum01 = multiply_add(a0.z, b21, sum01);
      sum10 = multiply_add(a1.z, b20, sum10);
      sum11 = multiply_add(a1.z, b21, sum11);
      sum20 = multiply_add(a2.z, b20, sum20);
      sum21 = multiply_add(a2.z, b21, sum21);
      sum30 = multiply_add(a3.z, b20, sum30);
      sum31 = multiply_add(a3.z, b21, sum31);
      let step3 = step_at(tap, channel + 3u);
      let b30 = load_b4(col0 + step3);
      let b31 = load_b4(col4 + step3);
      sum00 = multiply_add(a0.w, b30, sum00);
      sum01 = multiply_add(a0.w, b31, sum01);
      sum10 = multiply_add(a1.w, b30, sum10);
      sum11 = multiply_add(a1.w, b31, sum11);
      sum20 = multiply_add(a2.w, b30, sum20);
      sum21 = multiply_add(a2.w, b31, sum21);
      sum30 = multiply_add(a3.w, b30, sum30);
      sum31 = multiply_add(a3.w, b31, sum31);
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
