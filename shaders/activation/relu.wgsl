// y = max(x, 0)
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  let value = f32(x);
  return select(x, T(0.0), is_negative(value) && !is_nan(value));
}

fn op_i32(x: i32) -> i32 {
  return max(x, 0);
}

fn op_bool(x: bool) -> bool {
  return x;
}
