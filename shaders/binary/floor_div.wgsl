// y = the largest whole number not above a / b; as an integer 0 where it is NaN, and saturated
#include "include/integer.wgsl"
#include "include/remainder.wgsl"
#include "include/safe_math.wgsl"

struct Attrs {
  is_whole: u32,
  largest: i32,
}

fn op_f32(a: T, b: T) -> T_y {
  let quotient = floor_div_f32(f32(a), f32(b));
  let is_whole = attrs.is_whole == 1u;
  let y = T_y(select(quotient, 0.0, is_whole && is_nan(quotient)));
  return select(y, T_y(attrs.largest), is_whole && quotient >= 0x1p31f);
}

fn op_i32(a: i32, b: i32) -> i32 {
  return floor_div_i32(a, b);
}

fn op_bool(a: bool, b: bool) -> i32 {
  return i32(a && b);
}
