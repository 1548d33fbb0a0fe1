// y = 1 where x > 0, else alpha
#include "include/safe_math.wgsl"

struct Attrs {
  alpha: f32,
  whole_alpha: i32,
}

fn op_f32(x: T) -> T {
  let value = f32(x);
  if (is_nan(value)) {
    return x;
  }
  return select(T(1.0), T(attrs.alpha), is_negative(value) || is_zero(value));
}

fn op_i32(x: i32) -> i32 {
  return select(attrs.whole_alpha, 1, x > 0);
}

fn op_bool(x: bool) -> bool {
  return x || attrs.whole_alpha != 0;
}
