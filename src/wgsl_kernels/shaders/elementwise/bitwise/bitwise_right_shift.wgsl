// y = a / 2^b rounded down; 0 or -1, the sign of a, where b is negative or past 31

fn op_i32(a: i32, b: i32) -> i32 {
  return a >> min(u32(b), 31u);
}
