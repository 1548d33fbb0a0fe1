// y = a or b

fn op(a: bool, b: bool) -> bool {
  return a | b;
}
