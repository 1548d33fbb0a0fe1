// y[i] = the uint2 that is number i % 4 in a byte, x

fn op(x: T, i: u32) -> i32 {
  return i32((u32(x) >> (i % 4u * 2u)) & 3u);
}
