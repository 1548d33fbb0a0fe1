// y = x cut toward zero and saturated; 0 where it is NaN
#include "include/safe_math.wgsl"

fn op(x: T) -> i32 {
  return to_int32(f32(x));
}

fn to_int32(x: f32) -> i32 {
  if (is_nan(x)) {
    return 0;
  }
  if (x >= 0x1p31f) {
    return 2147483647;
  }
  return i32(max(x, -0x1p31f));
}
