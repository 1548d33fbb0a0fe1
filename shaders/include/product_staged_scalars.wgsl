// The part of product_staged.wgsl that reads both operands number by number.

// Four channels of a row from `channel` on, and 0 from `end` on.
fn stage_row(place: Place, channel: u32, end: u32) -> vec4<Sum> {
  var values = vec4<Sum>();
  if (channel < end) {
    values.x = load_a(place, channel);
  }
  if (channel + 1u < end) {
    values.y = load_a(place, channel + 1u);
  }
  if (channel + 2u < end) {
    values.z = load_a(place, channel + 2u);
  }
  if (channel + 3u < end) {
    values.w = load_a(place, channel + 3u);
  }
  return values;
}

// Where four columns begin.
struct StagedColumns {
  col0: u32,
  col1: u32,
  col2: u32,
  col3: u32,
}

fn staged_columns_at(batch: u32, col: u32) -> StagedColumns {
  let last = params.cols - 1u;
  return StagedColumns(
    col_at(batch, min(col, last)),
    col_at(batch, min(col + 1u, last)),
    col_at(batch, min(col + 2u, last)),
    col_at(batch, min(col + 3u, last)),
  );
}

fn load_columns(columns: StagedColumns, start: u32) -> vec4<Sum> {
  return vec4<Sum>(
    load_b(columns.col0 + start),
    load_b(columns.col1 + start),
    load_b(columns.col2 + start),
    load_b(columns.col3 + start),
  );
}
