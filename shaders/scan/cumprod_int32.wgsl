// cumprod.wgsl for int32, which wraps, and for bool

alias Total = i32;

fn init() -> Total {
  return 1;
}

fn combine(a: Total, b: Total) -> Total {
  return a * b;
}

fn lift(value: T_x) -> Total {
  return i32(value);
}

fn finish(total: Total) -> T_y {
  return total;
}
