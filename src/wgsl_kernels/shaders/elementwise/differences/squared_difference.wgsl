// y = (a - b)^2

fn op(a: T, b: T) -> T {
  let difference = a - b;
  return difference * difference;
}

fn op_bool(a: bool, b: bool) -> bool {
  return a != b;
}
