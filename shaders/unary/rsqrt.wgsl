// y = 1 / sqrt(x)
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_rsqrt(f32(x)));
}
