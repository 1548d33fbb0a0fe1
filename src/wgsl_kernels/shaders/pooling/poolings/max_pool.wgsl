// y[n, i, j, c] = maximum of the window of x that lies on the image; -Inf where that is nothing. NaN
// propagates.
//
// Compares signed words in the order of the elements: by its bits a NaN is above Inf where its sign
// is clear and below -Inf where it is set; words that wrap round put those after Inf as well.

const NANS_OF_A_SIGN = 0x7fffff;

fn init() -> i32 {
  return bitcast<i32>(0x80000000u); // -Inf
}

fn lift(x: T) -> i32 {
  return negative_reversed(bitcast<i32>(f32(x))) - NANS_OF_A_SIGN;
}

fn combine(a: i32, b: i32) -> i32 {
  return max(a, b);
}

fn finish(largest: i32) -> T_y {
  return T_y(bitcast<f32>(negative_reversed(largest + NANS_OF_A_SIGN)));
}

fn negative_reversed(bits: i32) -> i32 {
  return bits ^ ((bits >> 31u) & 0x7fffffff);
}
