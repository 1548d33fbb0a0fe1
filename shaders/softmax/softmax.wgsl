// y = e^x / sum of e^x along the axis dim: e^(x - top) / total, top being the row's maximum

#include "softmax/exponentials.wgsl"

struct Scaled {
  top: f32,
  scale: f32,
}

fn settle(sum: Exponentials) -> Scaled {
  return Scaled(sum.top, select(wk_nan(), 1.0 / sum.total, is_ordinary(sum)));
}

fn apply(logits: T, row: Scaled) -> T_y {
  return T_y(exp_below(f32(logits) - row.top) * row.scale);
}
