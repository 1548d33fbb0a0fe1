// cumprod.wesl for int32, which wraps, and for bool

fn init() -> i32 {
  return 1;
}

fn combine(a: i32, b: i32) -> i32 {
  return a * b;
}

fn lift(x: T) -> i32 {
  return i32(x);
}
