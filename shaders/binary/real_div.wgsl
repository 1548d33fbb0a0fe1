// y = a / b
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

fn op(a: T, b: T) -> T_y {
  return T_y(safe_div(f32(a), f32(b)));
}

fn op_bool(a: bool, b: bool) -> bool {
  return a && b;
}

fn op_complex(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return complex_div(a, b);
}
