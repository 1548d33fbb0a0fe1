// A product (product.wgsl) in registers alone whose operands lie in fours, a's along its rows: each
// invocation sums HEIGHT rows x 8 columns, a channel at a time. Written out, like
// product_registers.wgsl.
//
// The kernel gives besides
//   fn load_a4(place: Place, channel: u32) -> vec4<Sum>   4 rows; rows are a multiple of 4
//   fn load_b4(index: u32) -> vec4<Sum>                   4 columns; index counts vec4s

fn product_in_vec4_rows(group: u32, lane: u32) {
  let at = tile_at(group, lane);
  if (is_outside(at)) {
    return;
  }
  let last = params.rows - 4u;
  let row0 = row_at(at.batch, at.row);
  var row1 = row0;
  if (HEIGHT > 4u) {
    row1 = row_at(at.batch, min(at.row + 4u, last));
  }
  let left = col_at(at.batch, at.col) / 4u;
  let right = col_at(at.batch, min(at.col + 4u, params.cols - 4u)) / 4u;
  let step = channel_step() / 4u;
  var strip0: Strip;
  var strip1: Strip;
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    var start = tap_start(tap) / 4u + at.channel * step;
    for (var channel = at.channel; channel < at.channel_end; channel++) {
      let b0 = load_b4(left + start);
      let b1 = load_b4(right + start);
      add_channel(&strip0, load_a4(place0, channel), b0, b1);
      if (HEIGHT > 4u) {
        add_channel(&strip1, load_a4(place1, channel), b0, b1);
      }
      start += step;
    }
  }
  store_strip(at, at.row, at.col, at.col + 4u, strip0);
  if (HEIGHT > 4u) {
    store_strip(at, at.row + 4u, at.col, at.col + 4u, strip1);
  }
}
