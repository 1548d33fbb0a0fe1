// y = (sum of x along the axes) / n; NaN of no elements

fn init() -> T_wide {
  return T_wide(0);
}

fn lift(x: T) -> T_wide {
  return T_wide(x);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn finish(total: T_wide, n: u32) -> T_y {
  if (n == 0u) {
    return T_y(wk_nan());
  }
  return T_y(total / T_wide(f32(n)));
}
