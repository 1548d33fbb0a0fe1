// y = (e^x - e^-x) / (e^x + e^-x)
#include "include/hyperbolic.wgsl"
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_tanh(f32(x)));
}
