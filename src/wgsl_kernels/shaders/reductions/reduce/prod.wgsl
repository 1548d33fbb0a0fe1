// y = product of x along the axes; 1 of no elements

fn init() -> T_wide {
  return T_wide(1);
}

fn lift(x: T) -> T_wide {
  return T_wide(x);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a * b;
}

fn finish(total: T_wide) -> T_y {
  return T_y(total);
}
