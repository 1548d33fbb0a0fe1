// y = min of x along the axes; NaN wins; of no elements Inf, 0 or true

#include "include/order.wgsl"

fn init() -> i32 {
  return 0x7fffffff;
}

fn lift(x: T) -> i32 {
  return ordered(x, -1);
}

fn combine(a: i32, b: i32) -> i32 {
  return min(a, b);
}

fn finish(least: i32, n: u32) -> T_y {
  if (n == 0u) {
    let is_bool = T(2.0) == T(1.0);
    return select(T_y(wk_inf()), T_y(is_bool), order_is_whole());
  }
  return element_in_order(least, -1);
}
