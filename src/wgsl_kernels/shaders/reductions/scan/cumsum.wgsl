// y[k] = sum of x up to k: int32, which wraps, of int32 and bool, else f32; 0 of no elements

fn init() -> T_wide {
  return -T_wide(0); // -0 stays what it is
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn lift(x: T) -> T_wide {
  return T_wide(x);
}

fn finish(total: T_wide, n: u32) -> T_y {
  return select(T_y(total), T_y(0), n == 0u);
}
