// Complex arithmetic on vec2<f32> (real, imaginary). Needs include/safe_math.wgsl.
// Bounds are of |error| / |exact|: products 3 * 2^-23, quotients 16 * 2^-23, complex_abs 10 ULP.

fn complex_mul(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn complex_conj(a: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x, -a.y);
}

// Source: Smith, Algorithm 116: Complex Division, 1962. It overflows only where the quotient comes
// near to.
fn complex_div(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  if (abs(b.x) >= abs(b.y)) {
    let ratio = select(safe_div(b.y, b.x), 0.0, is_zero(b.x) && is_zero(b.y));
    let divisor = b.x + b.y * ratio;
    return vec2<f32>(safe_div(a.x + a.y * ratio, divisor), safe_div(a.y - a.x * ratio, divisor));
  }
  let ratio = safe_div(b.x, b.y);
  let divisor = b.x * ratio + b.y;
  return vec2<f32>(safe_div(a.x * ratio + a.y, divisor), safe_div(a.y * ratio - a.x, divisor));
}

// |a|, without overflow on the way; Inf wins over NaN, as in C99's hypot
fn complex_abs(a: vec2<f32>) -> f32 {
  if (is_inf(a.x) || is_inf(a.y)) {
    return wk_inf();
  }
  if (is_nan(a.x) || is_nan(a.y)) {
    return wk_nan();
  }
  let big = max(abs(a.x), abs(a.y));
  let small = min(abs(a.x), abs(a.y));
  if (is_zero(big)) {
    return 0.0;
  }
  let ratio = safe_div(small, big);
  return big * refined_sqrt(1.0 + ratio * ratio);
}

fn complex_equal(a: vec2<f32>, b: vec2<f32>) -> bool { // by bits; false where a part is NaN
  let same = (bitcast<vec2<u32>>(a) == bitcast<vec2<u32>>(b));
  let x = (same.x || (is_zero(a.x) && is_zero(b.x))) && !is_nan(a.x);
  let y = (same.y || (is_zero(a.y) && is_zero(b.y))) && !is_nan(a.y);
  return x && y;
}
