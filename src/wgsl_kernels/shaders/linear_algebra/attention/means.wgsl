// y = sums * inverses: means of weights that were relative to a row's largest

fn op(sums: T, inverses: T) -> T_y {
  return T_y(sums * inverses);
}
