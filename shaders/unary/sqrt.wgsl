// y = x^(1/2)
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_sqrt(f32(x)));
}
