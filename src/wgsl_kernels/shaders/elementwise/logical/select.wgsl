// y = t where the condition holds, else e

fn op(condition: bool, t: T_t, e: T_e) -> T_y {
  return select(e, t, condition);
}
