// y = 1 / x; of integers cut toward zero, and 0 for x = 0
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

fn op_f32(x: T) -> T {
  return T(safe_div(1.0, f32(x)));
}

fn op_i32(x: i32) -> i32 {
  return select(0, x, x == 1 || x == -1);
}

fn op_bool(x: bool) -> bool {
  return x;
}

fn op_complex(x: vec2<f32>) -> vec2<f32> {
  return complex_div(vec2<f32>(1.0, 0.0), x);
}
