// y = a byte, x

fn op(x: T) -> i32 {
  return i32(x);
}
