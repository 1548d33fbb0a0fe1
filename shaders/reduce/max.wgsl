// y = max of x along the axes; NaN wins; of no elements -Inf, 0 or false

#include "include/order.wgsl"

fn init() -> i32 {
  return bitcast<i32>(0x80000000u);
}

fn lift(x: T) -> i32 {
  return ordered(x, 1);
}

fn combine(a: i32, b: i32) -> i32 {
  return max(a, b);
}

fn finish(most: i32, n: u32) -> T_y {
  if (n == 0u) {
    return select(T_y(-wk_inf()), T_y(0), order_is_whole());
  }
  return element_in_order(most, 1);
}
