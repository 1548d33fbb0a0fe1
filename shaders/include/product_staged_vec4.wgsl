// The part of product_staged.wgsl that reads operands whose channels (a) and columns (b) lie in
// fours. The kernel that includes this gives load_a4 and load_b4, as for product_vec4.wgsl.

// Four channels of a row from `channel` on, and 0 from `end` on.
fn stage_row(place: Place, channel: u32, end: u32) -> vec4<Sum> {
  if (channel < end) {
    return load_a4(place, channel);
  }
  return vec4<Sum>();
}

// Where four columns begin.
struct StagedColumns {
  left: u32,
}

fn staged_columns_at(batch: u32, col: u32) -> StagedColumns {
  return StagedColumns(col_at(batch, min(col, params.cols - 4u)) / 4u);
}

fn load_columns(columns: StagedColumns, start: u32) -> vec4<Sum> {
  return load_b4(columns.left + start / 4u);
}
