// out = dy where y >= 0, else dy * (y + 1)        y: the result of Elu
#include "include/safe_math.wgsl"

fn op(dy: T, y: T_y) -> T_out {
  let value = f32(y);
  return select(dy * (y + T(1.0)), dy, !is_negative(value) && !is_nan(value));
}
