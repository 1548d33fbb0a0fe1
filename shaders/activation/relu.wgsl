// y = max(x, 0)
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  let magnitude = bitcast<u32>(f32(x)) ^ SIGN_BIT; // of what is negative, else more than Inf has
  return select(x, T(0.0), magnitude <= INF_BITS);
}

fn op_i32(x: i32) -> i32 {
  return max(x, 0);
}

fn op_bool(x: bool) -> bool {
  return x;
}
