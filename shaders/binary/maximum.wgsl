// y = the larger of a and b; NaN where either is
#include "include/safe_math.wgsl"

fn op_f32(a: T, b: T) -> T {
  return T(safe_max(f32(a), f32(b)));
}

fn op_i32(a: i32, b: i32) -> i32 {
  return max(a, b);
}

fn op_bool(a: bool, b: bool) -> i32 {
  return max(i32(a), i32(b));
}
