// Unsigned words in the order of the elements, for exact comparisons of any T but complex numbers:
// every NaN is the one largest word, -0 equals 0, and subnormals are not flushed.

fn ordering_is_whole() -> bool { // i32, or the u32 of a stored bool
  return T(0.5) == T(0.0);
}

fn order_of(x: T) -> u32 {
  if (ordering_is_whole()) {
    return bitcast<u32>(i32(x)) ^ 0x80000000u;
  }
  let bits = bitcast<u32>(f32(x)); // a bool is 0 or 1 here
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return 0xffffffffu;
  }
  let positive = magnitude == 0u || bits == magnitude;
  return select(~bits, magnitude | 0x80000000u, positive);
}

// The element whose order is `word`
fn element_of(word: u32) -> T {
  if (ordering_is_whole()) {
    return T(bitcast<i32>(word ^ 0x80000000u));
  }
  let positive = (word & 0x80000000u) != 0u;
  return T(bitcast<f32>(select(~word, word ^ 0x80000000u, positive)));
}
