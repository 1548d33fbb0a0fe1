// A product (product.wgsl) in registers alone whose operands lie in fours: each invocation sums
// HEIGHT rows x 8 columns, 4 channels at a time. Written out, like product_registers.wgsl.
//
// The kernel gives besides
//   fn load_a4(place: Place, channel: u32) -> vec4<Sum>   4 channels; channels are a multiple of 4
// and includes product_registers.wgsl, and product_vec4_columns.wgsl or product_vec4_terms.wgsl.

fn add_strip(strip: ptr<function, Strip>, places: Places, channel: u32, b: Fours) {
  let a0 = load_a4(places.place0, channel);
  if (HEIGHT == 1u) {
    add_fours(strip, a0, a0, a0, a0, b);
  } else {
    let a1 = load_a4(places.place1, channel);
    let a2 = load_a4(places.place2, channel);
    let a3 = load_a4(places.place3, channel);
    add_fours(strip, a0, a1, a2, a3, b);
  }
}

fn product_in_vec4(group: u32, lane: u32) {
  let at = tile_at(group, lane);
  if (is_outside(at)) {
    return;
  }
  let rows0 = rows_at(at.batch, at.row);
  var rows1 = rows0;
  if (HEIGHT > 4u) {
    rows1 = rows_at(at.batch, at.row + 4u);
  }
  let columns = columns_at(at.batch, at.col);
  var strip0: Strip;
  var strip1: Strip;
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let places0 = places_at(rows0, tap);
    let places1 = places_at(rows1, tap);
    var start = tap_start(tap) / 4u + at.channel / 4u * columns.step;
    for (var channel = at.channel; channel < at.channel_end; channel += 4u) {
      let b = load_fours(columns, start);
      add_strip(&strip0, places0, channel, b);
      if (HEIGHT > 4u) {
        add_strip(&strip1, places1, channel, b);
      }
      start += columns.step;
    }
  }
  store_strip(at, at.row, at.col, at.col + 4u, strip0);
  if (HEIGHT > 4u) {
    store_strip(at, at.row + 4u, at.col, at.col + 4u, strip1);
  }
}
