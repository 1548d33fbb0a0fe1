// y = x^2
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

fn op(x: T) -> T {
  return x * x;
}

fn op_bool(x: bool) -> bool {
  return x;
}

fn op_complex(x: vec2<f32>) -> vec2<f32> {
  return complex_mul(x, x);
}
