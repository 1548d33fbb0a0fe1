// y = -1, 0 or 1 with the sign of x
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  return T(safe_sign(f32(x)));
}

fn op_i32(x: i32) -> i32 {
  return clamp(x, -1, 1);
}

fn op_bool(x: bool) -> bool {
  return x;
}
