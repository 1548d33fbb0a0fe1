// y = x where x >= 0, else e^x - 1
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  let value = f32(x);
  if (is_negative(value)) {
    return T_y(safe_expm1(value));
  }
  return T_y(value);
}
