// y = a * 2^b modulo 2^32; 0 where b is negative or past 31

fn op_i32(a: i32, b: i32) -> i32 {
  return select(a << (u32(b) & 31u), 0, u32(b) > 31u);
}
