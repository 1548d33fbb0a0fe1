// y = whether every x along the axes is true

fn init() -> bool {
  return true;
}

fn lift(x: bool) -> bool {
  return x;
}

fn combine(a: bool, b: bool) -> bool {
  return a && b;
}
