// y = a == b; false where either is NaN
#include "include/complex.wgsl"
#include "include/ordering.wgsl"
#include "include/safe_math.wgsl"

fn op(a: T, b: T) -> bool {
  let left = order_of(a);
  let right = order_of(b);
  return left == right && right != 0xffffffffu; // the order of NaN
}

fn op_complex(a: vec2<f32>, b: vec2<f32>) -> bool {
  return complex_equal(a, b);
}

fn op_i32(a: i32, b: i32) -> bool {
  return a == b;
}
