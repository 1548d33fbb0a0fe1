// y = min(max(x, 0), 6)
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  return T(safe_clamp(f32(x), 0.0, 6.0));
}

fn op_i32(x: i32) -> i32 {
  return clamp(x, 0, 6);
}

fn op_bool(x: bool) -> bool {
  return x;
}
