// Signed words in the order of the elements, for exact comparisons of any T but complex numbers:
// -0 equals 0, and subnormals are not flushed. NaN has words of its own, above that of Inf where
// its sign is clear, else below that of -Inf.

const ORDER_OF_INF = 0x7f800000i;

fn order_is_whole() -> bool { // i32 or bool
  return T(0.5) == T(0.0) || T(2.0) == T(1.0);
}

fn ordered(x: T) -> i32 {
  if (order_is_whole()) {
    return i32(x);
  }
  let bits = bitcast<i32>(f32(x));
  let sign = bits >> 31u;
  return ((bits & 0x7fffffff) ^ sign) - sign;
}

fn is_order_of_nan(order: i32) -> bool {
  return !order_is_whole() && (order > ORDER_OF_INF || order < -ORDER_OF_INF);
}

// The element whose word is `order`
fn element_in_order(order: i32) -> T {
  if (order_is_whole()) {
    return T(order);
  }
  let sign = order >> 31u;
  return T(bitcast<f32>(((order + sign) ^ sign) | (sign & bitcast<i32>(0x80000000u))));
}
