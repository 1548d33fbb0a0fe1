// y = index of the first smallest x along the axis; the first NaN wins; 0 of no elements

#include "include/best.wgsl"

fn lift(x: T, i: u32) -> Best {
  return best_of_one(order_of(x, -1), i);
}

fn append(a: Best, x: T, i: u32) -> Best {
  return best_with(a, order_of(x, -1), i);
}
