// y[k] = sum of x up to k: int32, which wraps, of int32 and bool, else f32

alias Total = T_totals;

fn init() -> Total {
  return Total(0);
}

fn combine(a: Total, b: Total) -> Total {
  return a + b;
}

fn lift(value: T_x) -> Total {
  return Total(value);
}

fn finish(total: Total) -> T_y {
  return T_y(total);
}
