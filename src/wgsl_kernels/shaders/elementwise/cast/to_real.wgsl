// y = x as a float, or a bool as an integer

fn op(x: T) -> T_y {
  return T_y(x);
}
