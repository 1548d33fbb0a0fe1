// y = x where x >= 0, else alpha * x
#include "include/safe_math.wgsl"

struct Attrs {
  alpha: f32,
}

fn op(x: T) -> T_y {
  let value = f32(x);
  return T_y(select(value, value * attrs.alpha, is_negative(value) && !is_zero(value)));
}
