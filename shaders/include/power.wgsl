// Powers of f32 with C99's special values; bound in include/safe_math.wgsl, which this file needs.

// log(x) = l.x + l.y for finite x above 0, to 2^-29: k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1)
fn log_pair(x: f32) -> vec2<f32> {
  let parts = split(x);
  let k = f32(parts.exponent);
  let f = hold(parts.mantissa - 1.0);
  let divisor = two_sum(parts.mantissa, 1.0);
  let s = hold(f / divisor.x);
  let back = two_product(s, divisor.x);
  let residue = hold(hold(f - back.x) - back.y) - s * divisor.y;
  let s_lo = residue / divisor.x;
  let z = s * s;
  var p = 0x1.f13aeep-3f;
  p = p * z + 0x1.23d3ep-2f;
  p = p * z + 0x1.999c26p-2f;
  p = p * z + 0x1.555554p-1f;
  let small = s * z * p + 2.0 * s_lo * (1.0 + z) + k * LN2_LO;
  let sum = two_sum(k * LN2_HI, 2.0 * s);
  return fast_two_sum(sum.x, sum.y + small);
}

// x^y for finite x above 0 and finite y
fn pow_positive(x: f32, y: f32) -> f32 {
  let l = log_pair(x);
  let estimate = y * l.x;
  if (estimate > 90.0) {
    return wk_inf();
  }
  if (estimate < -105.0) {
    return 0.0;
  }
  let product = two_product(y, l.x);
  let e = exp_parts(product.x, product.y + y * l.y);
  return scale_by(e.hi + e.lo, e.exponent);
}

fn is_odd(y: f32) -> bool {
  return abs(y) < 0x1p24f && trunc(y) == y && (i32(y) & 1) == 1;
}

fn safe_pow(x: f32, y: f32) -> f32 {
  if (is_zero(y) || x == 1.0) {
    return 1.0;
  }
  if (is_nan(x) || is_nan(y)) {
    return wk_nan();
  }
  let a = abs(x);
  let sign = select(1.0, -1.0, is_negative(x) && is_odd(y));
  if (is_inf(y)) {
    if (a == 1.0) {
      return 1.0;
    }
    return select(0.0, wk_inf(), (a > 1.0) != is_negative(y));
  }
  if (is_zero(x) || is_inf(x)) {
    return with_sign_of(select(0.0, wk_inf(), is_inf(x) != is_negative(y)), sign);
  }
  if (is_negative(x) && !(trunc(y) == y)) {
    return wk_nan();
  }
  return with_sign_of(pow_positive(a, y), sign);
}
