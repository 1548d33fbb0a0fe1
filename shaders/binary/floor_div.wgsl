// y = the largest whole number not above a / b
//
// With `as_int32` it is an int32, and 0 where it would be none, as for b = 0.
#include "include/integer.wgsl"
#include "include/remainder.wgsl"
#include "include/safe_math.wgsl"

struct Attrs {
  as_int32: u32,
}

fn op_f32(a: T, b: T) -> T_y {
  let y = floor_div_f32(f32(a), f32(b));
  let fits = !is_nan(y) && abs(y) < 0x1p31f;
  return T_y(select(y, 0.0, attrs.as_int32 == 1u && !fits));
}

fn op_i32(a: i32, b: i32) -> i32 {
  return select(floor_div_i32(a, b), 0, attrs.as_int32 == 1u && b == 0);
}

fn op_bool(a: bool, b: bool) -> i32 {
  return i32(a && b);
}
