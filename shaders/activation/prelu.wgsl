// y = x where x >= 0, else alpha * x
#include "include/safe_math.wgsl"

fn op(x: T, alpha: T_alpha) -> T_y {
  let value = f32(x);
  return T_y(select(value, value * f32(alpha), is_negative(value) && !is_zero(value)));
}
