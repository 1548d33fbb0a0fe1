// y = x with every bit inverted

fn op_i32(x: i32) -> i32 {
  return ~x;
}

fn op_bool(x: bool) -> bool {
  return !x;
}
