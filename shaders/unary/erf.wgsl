// y = 2 / sqrt(pi) * the integral of e^(-t^2) for t from 0 to x
#include "include/error_function.wgsl"
#include "include/safe_math.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_erf(f32(x)));
}
