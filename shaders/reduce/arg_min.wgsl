// y = index of the first smallest x along the axis; the first NaN wins; 0 of no elements

#include "include/ordering.wgsl"

struct Best {
  order: u32,
  index: u32,
}

fn init() -> Best {
  return Best(0u, 0xffffffffu);
}

// The order upside down, but NaN stays on top.
fn lift(x: T, i: u32) -> Best {
  let order = order_of(x);
  let is_nan = !ordering_is_whole() && order == 0xffffffffu;
  return Best(select(~order, order, is_nan), i);
}

fn combine(a: Best, b: Best) -> Best {
  if (a.order > b.order || (a.order == b.order && a.index < b.index)) {
    return a;
  }
  return b;
}

fn finish(best: Best, n: u32) -> i32 {
  return select(i32(best.index), 0, n == 0u);
}
