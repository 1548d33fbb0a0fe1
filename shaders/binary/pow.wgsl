// y = a^b; of integers modulo 2^32
#include "include/integer.wgsl"
#include "include/power.wgsl"
#include "include/safe_math.wgsl"

fn op_f32(a: T, b: T) -> T {
  return T(safe_pow(f32(a), f32(b)));
}

fn op_i32(a: i32, b: i32) -> i32 {
  return pow_i32(a, b);
}

fn op_bool(a: bool, b: bool) -> bool {
  return a || !b;
}
