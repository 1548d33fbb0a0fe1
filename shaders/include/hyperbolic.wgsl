// Hyperbolic functions and their inverses; bounds in include/safe_math.wgsl, which this file needs.

fn safe_tanh(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) {
    return x;
  }
  if (a < 0.625) {
    let z = x * x;
    var p = -0x1.76922ap-8f;
    p = p * z + 0x1.52509ep-6f;
    p = p * z - 0x1.b8434p-5f;
    p = p * z + 0x1.11076p-3f;
    p = p * z - 0x1.555534p-2f;
    return x + x * (z * p);
  }
  if (a > 9.5) {
    return with_sign_of(1.0, x);
  }
  return with_sign_of(1.0 - 2.0 / (safe_exp(2.0 * a) + 1.0), x);
}

fn safe_sinh(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) {
    return x;
  }
  if (a < 1.0) {
    let z = x * x;
    var p = 0x1.75a6f4p-19f;
    p = p * z + 0x1.a02156p-13f;
    p = p * z + 0x1.1110e2p-7f;
    p = p * z + 0x1.555556p-3f;
    return x + x * (z * p);
  }
  if (a >= 89.41599) {
    return with_sign_of(wk_inf(), x);
  }
  let half_exp = exp_over_two(a);
  if (a > 20.0) {
    return with_sign_of(half_exp, x);
  }
  return with_sign_of(half_exp - 0.25 / half_exp, x);
}

fn safe_cosh(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) {
    return x;
  }
  if (a >= 89.41599) {
    return wk_inf();
  }
  let half_exp = exp_over_two(a);
  if (a > 20.0) {
    return half_exp;
  }
  return half_exp + 0.25 / half_exp;
}

// e^x / 2, also where e^x overflows
fn exp_over_two(x: f32) -> f32 {
  let e = exp_parts(x, 0.0);
  return scale_by(e.hi + e.lo, e.exponent - 1);
}

// log1p(a + a^2 / (1 + sqrt(1 + a^2)))
fn safe_asinh(x: f32) -> f32 {
  let a = abs(x);
  if (!is_finite(x)) {
    return x;
  }
  if (a > 1e9) {
    return with_sign_of(safe_log(a) + LN2, x);
  }
  return with_sign_of(safe_log1p(a + a * (a / (1.0 + sqrt(a * a + 1.0)))), x);
}

// log1p(t + sqrt(t (t + 2))), t = x - 1
fn safe_acosh(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  if (x < 1.0) {
    return wk_nan();
  }
  if (x > 1e9) {
    return safe_log(x) + LN2;
  }
  let t = hold(x - 1.0);
  return safe_log1p(t + refined_sqrt(t * (t + 2.0)));
}

// log1p(2 a / (1 - a)) / 2
fn safe_atanh(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) {
    return x;
  }
  if (a > 1.0) {
    return wk_nan();
  }
  if (a == 1.0) {
    return with_sign_of(wk_inf(), x);
  }
  return with_sign_of(0.5 * safe_log1p(2.0 * a / hold(1.0 - a)), x);
}
