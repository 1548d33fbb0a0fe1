// The element that comes first in order, and where it is; of equal ones the first.

#include "include/order.wgsl"

const ORDER_OF_INF = 0x7f800000;
const ORDER_OF_NAN = 0x7fffffff; // which wins everywhere
const NOWHERE = 0xffffffffu;

struct Best {
  order: i32,
  index: u32,
}

fn init() -> Best {
  return Best(bitcast<i32>(0x80000000u), NOWHERE);
}

// `flip` is 0 where the largest comes first, -1 where the smallest does. -0 equals 0.
fn order_of(x: T, flip: i32) -> i32 {
  if (order_is_whole()) {
    return i32(x) ^ flip;
  }
  let bits = bitcast<i32>(f32(x));
  let magnitude = bits & 0x7fffffff;
  let sign = (bits >> 31u) ^ flip;
  return select((magnitude ^ sign) - sign, ORDER_OF_NAN, magnitude > ORDER_OF_INF);
}

// The best of `a` and an element that is behind all those of `a`
fn best_with(a: Best, order: i32, i: u32) -> Best {
  let is_first = order_is_whole() && a.index == NOWHERE; // a float's order is above that of init
  let is_new = order > a.order || is_first;
  return Best(select(a.order, order, is_new), select(a.index, i, is_new));
}

fn combine(a: Best, b: Best) -> Best {
  let is_b = b.order > a.order || (b.order == a.order && b.index < a.index);
  return Best(select(a.order, b.order, is_b), select(a.index, b.index, is_b));
}

fn finish(best: Best, n: u32) -> i32 {
  return select(i32(best.index), 0, n == 0u);
}
