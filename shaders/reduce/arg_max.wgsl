// y = index of the first largest x along the axis; the first NaN wins; 0 of no elements

#include "include/best.wgsl"

fn lift(x: T, i: u32) -> Best {
  let order = ordered(x);
  return Best(select(order, ORDER_OF_ALL, is_order_of_nan(order)), i);
}
