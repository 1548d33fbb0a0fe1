// y = log(1 + e^x); of integers cut toward zero
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  return T(safe_softplus(f32(x)));
}

fn op_i32(x: i32) -> i32 {
  return max(x, 0); // log(1 + e^-|x|) < 1
}

fn op_bool(x: bool) -> bool {
  return x;
}
