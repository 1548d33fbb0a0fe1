// The part of product_vec4.wgsl that reads b where its channels lie in fours, as those of a do: b is
// the transpose of what is stored.
//
// The kernel that includes this gives fn load_b4(index: u32) -> vec4<Sum>, of 4 channels, where
// `index` counts vec4s.

// Where the columns of an invocation begin, in vec4s.
struct Columns {
  col0: u32,
  col1: u32,
  col2: u32,
  col3: u32,
  col4: u32,
  col5: u32,
  col6: u32,
  col7: u32,
  step: u32, // from four channels to the next four
}

fn columns_at(batch: u32, col: u32) -> Columns {
  let last = params.cols - 1u;
  return Columns(
    col_at(batch, col) / 4u,
    col_at(batch, min(col + 1u, last)) / 4u,
    col_at(batch, min(col + 2u, last)) / 4u,
    col_at(batch, min(col + 3u, last)) / 4u,
    col_at(batch, min(col + 4u, last)) / 4u,
    col_at(batch, min(col + 5u, last)) / 4u,
    col_at(batch, min(col + 6u, last)) / 4u,
    col_at(batch, min(col + 7u, last)) / 4u,
    1u,
  );
}

fn load_fours(columns: Columns, start: u32) -> Fours {
  let b0 = load_b4(columns.col0 + start);
  let b1 = load_b4(columns.col1 + start);
  let b2 = load_b4(columns.col2 + start);
  let b3 = load_b4(columns.col3 + start);
  let b4 = load_b4(columns.col4 + start);
  let b5 = load_b4(columns.col5 + start);
  let b6 = load_b4(columns.col6 + start);
  let b7 = load_b4(columns.col7 + start);
  return Fours(
    vec4<Sum>(b0.x, b1.x, b2.x, b3.x),
    vec4<Sum>(b4.x, b5.x, b6.x, b7.x),
    vec4<Sum>(b0.y, b1.y, b2.y, b3.y),
    vec4<Sum>(b4.y, b5.y, b6.y, b7.y),
    vec4<Sum>(b0.z, b1.z, b2.z, b3.z),
    vec4<Sum>(b4.z, b5.z, b6.z, b7.z),
    vec4<Sum>(b0.w, b1.w, b2.w, b3.w),
    vec4<Sum>(b4.w, b5.w, b6.w, b7.w),
  );
}
