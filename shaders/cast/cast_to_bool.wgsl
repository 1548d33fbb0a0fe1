// y = whether x is not 0; NaN is not
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> bool {
  return !is_zero(f32(x));
}

fn op_i32(x: i32) -> bool {
  return x != 0;
}
