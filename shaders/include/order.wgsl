// Signed words in the order of the elements, for exact comparisons of any T but complex numbers:
// subnormals are not flushed. By its bits a NaN is above Inf where its sign is clear and below
// -Inf where it is set; words that wrap round have all of them on one side, here called `nans`:
// above Inf where that is 1, below -Inf where it is -1.

const NANS_OF_A_SIGN = 0x7fffff;

fn order_is_whole() -> bool { // i32 or bool
  return T(0.5) == T(0.0) || T(2.0) == T(1.0);
}

fn ordered(x: T, nans: i32) -> i32 {
  if (order_is_whole()) {
    return i32(x);
  }
  return negative_reversed(bitcast<i32>(f32(x))) - nans * NANS_OF_A_SIGN;
}

// The element whose word is `order`: of NaN that NaN.
fn element_in_order(order: i32, nans: i32) -> T {
  if (order_is_whole()) {
    return T(order);
  }
  return T(bitcast<f32>(negative_reversed(order + nans * NANS_OF_A_SIGN)));
}

// Its own inverse
fn negative_reversed(bits: i32) -> i32 {
  return bits ^ ((bits >> 31u) & 0x7fffffff);
}
