// y = not x

fn op(x: bool) -> bool {
  return !x;
}
