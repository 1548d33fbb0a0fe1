// y[i] = the uint4 that is number i % 2 in a byte, x

fn op(x: T, i: u32) -> i32 {
  return i32((u32(x) >> (i % 2u * 4u)) & 15u);
}
