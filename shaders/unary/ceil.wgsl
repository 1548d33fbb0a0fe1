// y = the smallest whole number not below x
#include "include/safe_math.wgsl"

fn op(x: T) -> T {
  return x;
}

fn op_f32(x: T) -> T {
  return select(x, ceil(x), is_finite(f32(x)));
}
