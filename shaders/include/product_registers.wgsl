// A product (product.wgsl) in registers alone, for adapters whose workgroup memory is no faster
// than any other: each invocation sums HEIGHT rows x 8 columns, a channel at a time. Written out,
// because some drivers stop an invocation after 65,535 iterations summed over all of its loops.

struct Rows {
  row0: Row,
  row1: Row,
  row2: Row,
  row3: Row,
}

struct Places {
  place0: Place,
  place1: Place,
  place2: Place,
  place3: Place,
}

fn rows_at(batch: u32, row: u32) -> Rows {
  let last = params.rows - 1u;
  return Rows(
    row_at(batch, min(row, last)),
    row_at(batch, min(row + 1u, last)),
    row_at(batch, min(row + 2u, last)),
    row_at(batch, min(row + 3u, last)),
  );
}

fn places_at(rows: Rows, tap: u32) -> Places {
  return Places(
    place_at(rows.row0, tap),
    place_at(rows.row1, tap),
    place_at(rows.row2, tap),
    place_at(rows.row3, tap),
  );
}

fn load_rows(places: Places, channel: u32) -> vec4<Sum> {
  let first = load_a(places.place0, channel);
  if (HEIGHT == 1u) {
    return vec4<Sum>(first);
  }
  return vec4<Sum>(
    first,
    load_a(places.place1, channel),
    load_a(places.place2, channel),
    load_a(places.place3, channel),
  );
}

// Where the columns of an invocation begin.
struct Eight {
  col0: u32,
  col1: u32,
  col2: u32,
  col3: u32,
  col4: u32,
  col5: u32,
  col6: u32,
  col7: u32,
}

// One channel of eight columns.
struct Pair {
  left: vec4<Sum>,
  right: vec4<Sum>,
}

fn eight_at(batch: u32, col: u32) -> Eight {
  let last = params.cols - 1u;
  return Eight(
    col_at(batch, col),
    col_at(batch, min(col + 1u, last)),
    col_at(batch, min(col + 2u, last)),
    col_at(batch, min(col + 3u, last)),
    col_at(batch, min(col + 4u, last)),
    col_at(batch, min(col + 5u, last)),
    col_at(batch, min(col + 6u, last)),
    col_at(batch, min(col + 7u, last)),
  );
}

// product_registers_columns.wgsl has another, of two loads, for columns that lie in fours.
fn load_eight(columns: Eight, start: u32) -> Pair {
  return Pair(
    vec4<Sum>(
      load_b(columns.col0 + start),
      load_b(columns.col1 + start),
      load_b(columns.col2 + start),
      load_b(columns.col3 + start),
    ),
    vec4<Sum>(
      load_b(columns.col4 + start),
      load_b(columns.col5 + start),
      load_b(columns.col6 + start),
      load_b(columns.col7 + start),
    ),
  );
}

fn product_in_registers(group: u32, lane: u32) {
  let at = tile_at(group, lane);
  if (is_outside(at)) {
    return;
  }
  let rows0 = rows_at(at.batch, at.row);
  var rows1 = rows0;
  if (HEIGHT > 4u) {
    rows1 = rows_at(at.batch, at.row + 4u);
  }
  let columns = eight_at(at.batch, at.col);
  let step = channel_step();
  var strip0: Strip;
  var strip1: Strip;
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let places0 = places_at(rows0, tap);
    let places1 = places_at(rows1, tap);
    var start = tap_start(tap) + at.channel * step;
    for (var channel = at.channel; channel < at.channel_end; channel++) {
      let b = load_eight(columns, start);
      add_channel(&strip0, load_rows(places0, channel), b.left, b.right);
      if (HEIGHT > 4u) {
        add_channel(&strip1, load_rows(places1, channel), b.left, b.right);
      }
      start += step;
    }
  }
  store_strip(at, at.row, at.col, at.col + 4u, strip0);
  if (HEIGHT > 4u) {
    store_strip(at, at.row + 4u, at.col, at.col + 4u, strip1);
  }
}
