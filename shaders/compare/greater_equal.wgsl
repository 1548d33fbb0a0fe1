// y = a >= b; false where either is NaN
#include "include/ordering.wgsl"

fn op(a: T, b: T) -> bool {
  let left = order_of(a);
  let right = order_of(b);
  return left >= right && left != 0xffffffffu; // the order of NaN
}

fn op_i32(a: i32, b: i32) -> bool {
  return a >= b;
}
