// y = the largest whole number not above x
#include "include/safe_math.wgsl"

fn op(x: T) -> T {
  return x;
}

fn op_f32(x: T) -> T {
  return select(x, floor(x), is_finite(f32(x)));
}
