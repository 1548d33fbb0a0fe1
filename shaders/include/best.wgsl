// The element that comes first in order, and where it is; of equal ones the first.

#include "include/order.wgsl"

const ORDER_OF_ALL = 0x7fffffff; // of NaN, which wins everywhere

struct Best {
  order: i32,
  index: u32,
}

fn init() -> Best {
  return Best(bitcast<i32>(0x80000000u), 0xffffffffu);
}

// `flip` is 0 where the largest comes first, -1 where the smallest does.
fn place_of(x: T, i: u32, flip: i32) -> Best {
  if (order_is_whole()) {
    return Best(i32(x) ^ flip, i);
  }
  let bits = bitcast<i32>(f32(x));
  let magnitude = bits & 0x7fffffff;
  let sign = (bits >> 31u) ^ flip;
  return Best(select((magnitude ^ sign) - sign, ORDER_OF_ALL, magnitude > ORDER_OF_INF), i);
}

fn combine(a: Best, b: Best) -> Best {
  let is_b = b.order > a.order || (b.order == a.order && b.index < a.index);
  return Best(select(a.order, b.order, is_b), select(a.index, b.index, is_b));
}

fn finish(best: Best, n: u32) -> i32 {
  return select(i32(best.index), 0, n == 0u);
}
