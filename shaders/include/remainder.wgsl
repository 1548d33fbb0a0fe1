// Python's floor division and modulo of f32, and C's fmod; bounds in include/safe_math.wgsl, which
// this file needs. The remainder comes from integer long division of the mantissas, so it is exact
// for every pair of numbers.

struct Division {
  quotient: u32, // truncated |x / y|; 0xffffffff where it passes 2^24
  remainder: f32, // |x| - quotient * |y|
}

// For finite x, and y neither 0 nor NaN
fn divide_exactly(x: f32, y: f32) -> Division {
  let x_bits = bitcast<u32>(x) & ~SIGN_BIT;
  let y_bits = bitcast<u32>(y) & ~SIGN_BIT;
  if (x_bits < y_bits) {
    return Division(0u, bitcast<f32>(x_bits));
  }
  let x_exponent = max(x_bits >> 23u, 1u);
  let y_exponent = max(y_bits >> 23u, 1u);
  let top = (x_bits & 0x7fffffu) | select(0u, 0x800000u, x_bits >= 0x800000u);
  let bottom = (y_bits & 0x7fffffu) | select(0u, 0x800000u, y_bits >= 0x800000u);
  var quotient = top / bottom;
  var remainder = top % bottom;
  var shifts = x_exponent - y_exponent;
  for (; shifts > 0u; shifts -= min(shifts, 8u)) { // at most 32 rounds
    let step = min(shifts, 8u);
    let partial = remainder << step;
    let passed = quotient >= 0x1000000u;
    quotient = select((quotient << step) + partial / bottom, 0xffffffffu, passed);
    remainder = partial % bottom;
  }
  if (y_exponent == 1u) { // the integer is the float's bits, flushed or not
    return Division(quotient, bitcast<f32>(remainder));
  }
  return Division(quotient, scale_by(f32(remainder), i32(y_exponent) - 150));
}

// The remainder takes the sign of x, as in C.
fn trunc_mod_f32(x: f32, y: f32) -> f32 {
  if (!is_finite(x) || is_nan(y) || is_zero(y)) {
    return wk_nan();
  }
  return with_sign_of(divide_exactly(x, y).remainder, x);
}

// The remainder takes the sign of y.
fn floor_mod_f32(x: f32, y: f32) -> f32 {
  let remainder = trunc_mod_f32(x, y);
  if (is_nan(remainder)) {
    return remainder;
  }
  if (is_zero(remainder)) {
    return with_sign_of(remainder, y);
  }
  if (is_negative(remainder) == is_negative(y)) {
    return remainder;
  }
  return remainder + y;
}

fn floor_div_f32(x: f32, y: f32) -> f32 {
  if (is_zero(y)) {
    return safe_div(x, y);
  }
  if (!is_finite(x) || is_nan(y)) {
    return wk_nan();
  }
  let division = divide_exactly(x, y);
  if (division.quotient >= 0x1000000u) {
    return floor(safe_div(x, y));
  }
  let whole = f32(division.quotient);
  if (is_negative(x) == is_negative(y)) {
    return whole;
  }
  return -whole - select(1.0, 0.0, is_zero(division.remainder));
}
