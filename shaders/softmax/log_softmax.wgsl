// y = x - log(sum of e^x) along the axis: (x - top) - log(total), top being the row's maximum

#include "softmax/exponentials.wgsl"

struct Lowered {
  top: f32,
  log_total: f32,
}

fn settle(sum: Exponentials) -> Lowered {
  return Lowered(sum.top, select(wk_nan(), safe_log(sum.total), is_ordinary(sum)));
}

fn apply(logits: T, row: Lowered) -> T_y {
  return T_y((f32(logits) - row.top) - row.log_total);
}
