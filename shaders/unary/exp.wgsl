// y = e^x
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_exp(f32(x)));
}
