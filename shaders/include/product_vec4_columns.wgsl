// The part of product_vec4.wgsl that reads b where its columns lie in fours.
//
// The kernel that includes this gives fn load_b4(index: u32) -> vec4<Sum>, of 4 columns, where `index`
// counts vec4s; columns are a multiple of 4.

// Where the columns of an invocation begin, in vec4s.
struct Columns {
  left: u32,
  right: u32,
  each: u32, // from one channel to the next
  step: u32, // from four channels to the next four
}

fn columns_at(batch: u32, col: u32) -> Columns {
  let right = min(col + 4u, params.cols - 4u);
  let step = channel_step();
  return Columns(col_at(batch, col) / 4u, col_at(batch, right) / 4u, step / 4u, step);
}

fn load_fours(columns: Columns, start: u32) -> Fours {
  let left = columns.left + start;
  let right = columns.right + start;
  let each = columns.each;
  return Fours(
    load_b4(left),
    load_b4(right),
    load_b4(left + each),
    load_b4(right + each),
    load_b4(left + 2u * each),
    load_b4(right + 2u * each),
    load_b4(left + 3u * each),
    load_b4(right + 3u * each),
  );
}
