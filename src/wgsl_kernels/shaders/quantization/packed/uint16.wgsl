// y = the uint16 of two bytes

fn op(low: T, high: T_high) -> i32 {
  return i32(u32(low) | (u32(high) << 8u));
}
