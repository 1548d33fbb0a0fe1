// y[i] = first + i * gap

struct Attrs {
  first: f32,
  gap: f32,
  first_whole: i32,
  gap_whole: i32,
}

fn op(i: u32) -> T {
  return T(attrs.first + f32(i) * attrs.gap);
}

fn op_i32(i: u32) -> i32 {
  return attrs.first_whole + i32(i) * attrs.gap_whole;
}
