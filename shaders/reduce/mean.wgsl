// y = (sum of x along the axes) / n; NaN of no elements

fn init() -> T_y {
  return T_y(0);
}

fn lift(x: T) -> T_y {
  return T_y(x);
}

fn combine(a: T_y, b: T_y) -> T_y {
  return a + b;
}

fn finish(total: T_y, n: u32) -> T_y {
  if (n == 0u) {
    return T_y(wk_nan());
  }
  return total / T_y(f32(n));
}
