// y = 1 / (1 + e^-x)
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_sigmoid(f32(x)));
}
