// y = the whole number nearest to x, the even one of two
#include "include/safe_math.wgsl"

fn op(x: T) -> T {
  return x;
}

fn op_f32(x: T) -> T {
  return T(round_half_even(f32(x)));
}
