// y = sum of x along the axes; bool is counted; 0 of no elements

fn init() -> T_y {
  return T_y(0);
}

fn lift(x: T) -> T_y {
  return T_y(x);
}

fn combine(a: T_y, b: T_y) -> T_y {
  return a + b;
}
