// y = a or b, bit by bit

fn op_i32(a: i32, b: i32) -> i32 {
  return a | b;
}

fn op_bool(a: bool, b: bool) -> bool {
  return a || b;
}
