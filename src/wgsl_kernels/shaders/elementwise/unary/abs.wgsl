// y = |x|

fn op(x: T) -> T {
  return abs(x);
}

fn op_i32(x: i32) -> i32 {
  return select(x, -x, x < 0);
}

fn op_bool(x: bool) -> bool {
  return x;
}
