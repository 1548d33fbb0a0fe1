// y = x cut toward zero and saturated; 0 where it is NaN
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> i32 {
  let value = f32(x);
  if (is_nan(value)) {
    return 0;
  }
  if (value >= 0x1p31f) {
    return 2147483647;
  }
  return i32(max(value, -0x1p31f));
}

fn op_bool(x: bool) -> i32 {
  return i32(x);
}
