// y = log(x), to base e
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_log(f32(x)));
}
