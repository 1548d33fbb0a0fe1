// The element that comes first in order, and where it is; of equal ones the first.
//
// What comes last of all, of floats an infinity, has no place: where all are so, the first is the
// best. So an element is new exactly where its order is above that of the best.

#include "include/order.wgsl"

const LAST = i32(-0x80000000);
const NOWHERE = 0xffffffffu;
const ORDER_OF_NAN = 0x7f000001; // which wins everywhere

struct Best {
  order: i32,
  index: u32,
}

fn init() -> Best {
  return Best(LAST, NOWHERE);
}

// `flip` is 0 where the largest comes first, -1 where the smallest does. -0 equals 0. The words of
// NaN are at both ends, above and below those of the infinities; wrapped round they are together.
fn order_of(x: T, flip: i32) -> i32 {
  if (order_is_whole()) {
    return i32(x) ^ flip;
  }
  let bits = bitcast<i32>(f32(x));
  let sign = (bits >> 31u) ^ flip;
  return min(((bits & 0x7fffffff) ^ sign) - (sign + 0x800000), ORDER_OF_NAN);
}

fn best_of_one(order: i32, i: u32) -> Best {
  return Best(order, select(i, NOWHERE, order == LAST));
}

// The best of `a` and an element that is behind all those of `a`
fn best_with(a: Best, order: i32, i: u32) -> Best {
  let is_new = order > a.order;
  return Best(select(a.order, order, is_new), select(a.index, i, is_new));
}

fn combine(a: Best, b: Best) -> Best {
  let is_b = b.order > a.order || (b.order == a.order && b.index < a.index);
  return Best(select(a.order, b.order, is_b), select(a.index, b.index, is_b));
}

fn finish(best: Best) -> i32 {
  return select(i32(best.index), 0, best.index == NOWHERE);
}
