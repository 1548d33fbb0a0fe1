// The least and the largest word of elements in order; either tells of a NaN among them.

#include "include/order.wgsl"

struct Span {
  least: i32,
  most: i32,
}

fn init() -> Span {
  return Span(0x7fffffff, bitcast<i32>(0x80000000u));
}

fn lift(x: T) -> Span {
  let order = ordered(x);
  return Span(order, order);
}

fn combine(a: Span, b: Span) -> Span {
  return Span(min(a.least, b.least), max(a.most, b.most));
}

fn has_nan(span: Span) -> bool {
  return is_order_of_nan(span.least) || is_order_of_nan(span.most);
}
