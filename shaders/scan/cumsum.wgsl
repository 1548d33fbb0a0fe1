// y[k] = sum of x up to k: int32, which wraps, of int32 and bool, else f32

fn init() -> T_wide {
  return T_wide(0);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn lift(x: T) -> T_wide {
  return T_wide(x);
}

fn finish(total: T_wide) -> T_y {
  return T_y(total);
}
