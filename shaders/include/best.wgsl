// The element that comes first in order, and where it is; of equal ones the first. The kernel
// gives `fn lift(x: T, i: u32) -> Best`, in which the larger word is the better.

#include "include/order.wgsl"

const ORDER_OF_ALL = 0x7fffffff; // of NaN, which wins everywhere

struct Best {
  order: i32,
  index: u32,
}

fn init() -> Best {
  return Best(bitcast<i32>(0x80000000u), 0xffffffffu);
}

fn combine(a: Best, b: Best) -> Best {
  let is_b = b.order > a.order || (b.order == a.order && b.index < a.index);
  return Best(select(a.order, b.order, is_b), select(a.index, b.index, is_b));
}

fn finish(best: Best, n: u32) -> i32 {
  return select(i32(best.index), 0, n == 0u);
}
