// y = max of x along the axes; NaN wins; of no elements -Inf, 0 or false

#include "include/ordering.wgsl"

fn init() -> u32 {
  return 0u;
}

fn lift(x: T) -> u32 {
  return order_of(x);
}

fn combine(a: u32, b: u32) -> u32 {
  return max(a, b);
}

fn finish(order: u32, n: u32) -> T_y {
  if (n > 0u) {
    return element_of(order);
  }
  let has_infinity = T(0.5) != T(0.0) && T(2.0) != T(1.0); // neither whole nor bool
  return select(T_y(0), T_y(-wk_inf()), has_infinity);
}
