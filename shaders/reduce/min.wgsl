// y = min of x along the axes; NaN wins; of no elements Inf, 0 or true

#include "include/ordering.wgsl"

fn init() -> u32 {
  return 0xffffffffu;
}

// NaN, the largest of the order, is moved below everything: an order of 0 has no other meaning,
// except for integers.
fn lift(x: T) -> u32 {
  let order = order_of(x);
  return select(order, 0u, !ordering_is_whole() && order == 0xffffffffu);
}

fn combine(a: u32, b: u32) -> u32 {
  return min(a, b);
}

fn finish(order: u32, n: u32) -> T_y {
  if (n == 0u) {
    return select(T_y(wk_inf()), T_y(0), ordering_is_whole());
  }
  if (!ordering_is_whole() && order == 0u) {
    return element_of(0xffffffffu);
  }
  return element_of(order);
}
