// Accurate f32 functions that keep NaN and Inf: classification, exponentials, logarithms, roots,
// quotients.
//
// Bounds, in ULP of the exact result. "any" follows from WGSL's accuracy table alone: every + - *
// rounds to either neighbour, a * b + c may or may not be fused, x / y is within 2.5 ULP,
// inverseSqrt within 2. "nearest" holds where + - * round to nearest and x / y is within 1 ULP, as
// on all hardware known to us. Beside it every result may be off by 2^-126, because subnormals may
// be flushed.
//
//   function            any  nearest  domain and special values
//   safe_max, safe_min    0     0     NaN propagates; the sign of zero is free
//   safe_clamp            0     0     min(max(x, low), high), as NumPy's clip; NaN propagates
//   safe_sign             0     0     -1, 0, 1; NaN of NaN
//   round_half_even       0     0     ties to even
//   safe_div            2.5     1     all, subnormal too; x/0 = Inf with its sign, 0/0 = NaN
//   safe_sqrt           4.5     1     all; NaN below 0; subnormals are right; "nearest" where the
//                                     device's sqrt is within 1 ULP, as on all hardware known to us
//   refined_sqrt          2     1     as safe_sqrt, at three times its cost
//   safe_rsqrt            2     2     all; Inf at 0, NaN below 0
//   safe_exp              2    1.1    all; Inf from 88.7228394, 0 below -104
//   safe_expm1            4     2     all; -1 at -Inf
//   safe_log              4     2     all; -Inf at 0, NaN below 0; subnormals are right
//   safe_log1p            4     2     all; -Inf at -1, NaN below it
//   safe_sigmoid          9     4     all
//   safe_softplus         9     4     all
//   safe_tanh             6     3     all   (include/hyperbolic.wgsl, as the next five)
//   safe_sinh             6     3     all
//   safe_cosh             5     3     all
//   safe_asinh            9     5     all
//   safe_acosh           12     5     NaN below 1
//   safe_atanh           12     5     NaN outside [-1, 1], Inf with the sign of x at its ends
//   safe_sin, safe_cos    3     2     all; NaN at Inf   (include/trigonometry.wgsl, next five too)
//   safe_tan              8     5     all; NaN at Inf
//   safe_asin            10     5     NaN outside [-1, 1]
//   safe_acos             8     5     NaN outside [-1, 1]
//   safe_atan             9     4     all
//   safe_atan2           14     6     all; C99's special values, but for the sign of zero
//   safe_pow             13     6     all; C99's special values   (include/power.wgsl)
//   safe_erf              4     2     all                         (include/error_function.wgsl)
//   floor_mod_f32         1   0.5     Python's %   (include/remainder.wgsl, as the next two)
//   trunc_mod_f32         0     0     C's fmod
//   floor_div_f32         3   1.5     Python's //; exact below 2^24
//
// hold(x), wk_nan() and wk_inf() are the composer's. What would be deleted by a compiler that
// reassociates (the error of a sum, a residue) passes through hold.
//
// Sources: Tang, Table-Driven Implementation of the Exponential Function, 1989 (split ln 2);
// Dekker, A Floating-Point Technique for Extending the Available Precision, 1971 (two_product);
// Boldo, Graillat, Muller, On the Robustness of the 2Sum and Fast2Sum Algorithms, 2017 (rounding
// to either neighbour). Polynomials: weighted minimax fits, coefficients rounded one by one.

const SIGN_BIT = 0x80000000u;
const INF_BITS = 0x7f800000u;
const LN2 = 0.693147182f;
const LN2_HI = 0x1.62e4p-1f; // 15 bits, so that k * LN2_HI is exact for |k| < 512
const LN2_LO = 0x1.7f7d1cp-20f;

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & ~SIGN_BIT) > INF_BITS;
}

fn is_inf(x: f32) -> bool {
  return (bitcast<u32>(x) & ~SIGN_BIT) == INF_BITS;
}

fn is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & INF_BITS) != INF_BITS;
}

fn is_zero(x: f32) -> bool { // a comparison may take a subnormal for zero
  return (bitcast<u32>(x) & ~SIGN_BIT) == 0u;
}

fn is_negative(x: f32) -> bool { // the sign bit
  return (bitcast<u32>(x) & SIGN_BIT) != 0u;
}

fn with_sign_of(magnitude: f32, sign: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(magnitude) & ~SIGN_BIT) | (bitcast<u32>(sign) & SIGN_BIT));
}

fn safe_max(a: f32, b: f32) -> f32 {
  if (is_nan(a)) {
    return a;
  }
  return select(select(b, a, a > b), b, is_nan(b));
}

fn safe_min(a: f32, b: f32) -> f32 {
  if (is_nan(a)) {
    return a;
  }
  return select(select(b, a, a < b), b, is_nan(b));
}

fn safe_clamp(x: f32, low: f32, high: f32) -> f32 {
  return safe_min(safe_max(x, low), high);
}

fn safe_sign(x: f32) -> f32 {
  if (is_nan(x) || is_zero(x)) {
    return x;
  }
  return with_sign_of(1.0, x);
}

fn round_half_even(x: f32) -> f32 {
  if (!(abs(x) < 0x1p23f)) { // whole already, or not a number
    return x;
  }
  return with_sign_of(round(x), x);
}

// a + b = s.x + s.y
fn two_sum(a: f32, b: f32) -> vec2<f32> {
  let s = hold(a + b);
  let from_b = hold(s - a);
  let from_a = hold(s - from_b);
  return vec2<f32>(s, hold(a - from_a) + hold(b - from_b));
}

// a + b = s.x + s.y where |a| >= |b|, or a is 0
fn fast_two_sum(a: f32, b: f32) -> vec2<f32> {
  let s = hold(a + b);
  return vec2<f32>(s, b - hold(s - a));
}

// a * b = p.x + p.y, unless that over- or underflows. Each half has 12 bits, so every partial
// product is exact.
fn two_product(a: f32, b: f32) -> vec2<f32> {
  let p = hold(a * b);
  let a_hi = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let b_hi = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let a_lo = hold(a - a_hi);
  let b_lo = hold(b - b_hi);
  let rest = hold(hold(hold(a_hi * b_hi) - p) + hold(a_hi * b_lo));
  return vec2<f32>(p, hold(rest + hold(a_lo * b_hi)) + hold(a_lo * b_lo));
}

// 2^k for k in [-126, 127]
fn power_of_two(k: i32) -> f32 {
  return bitcast<f32>(u32(k + 127) << 23u);
}

// i32(k) for a whole number |k| < 2^22. It costs an addition, where i32 also looks for overflow.
fn i32_of_whole(k: f32) -> i32 {
  return bitcast<i32>(k + 0x1.8p23f) - 0x4b400000;
}

// x * 2^k; in two steps, since 2^k itself may not be a number
fn scale_by(x: f32, k: i32) -> f32 {
  let whole = clamp(k, -252, 252);
  let half = whole / 2;
  return hold(x * power_of_two(half)) * power_of_two(whole - half);
}

struct Parts {
  mantissa: f32, // [sqrt(1/2), sqrt(2))
  exponent: i32,
}

// x = mantissa * 2^exponent, for finite x above 0. Subnormals are read as integers, so flushing
// does no harm.
fn split(x: f32) -> Parts {
  var bits = bitcast<u32>(x);
  var exponent = -127;
  if (bits < 0x00800000u) {
    bits = bitcast<u32>(f32(bits));
    exponent -= 149;
  }
  bits += 0x3f800000u - 0x3f3504f3u;
  exponent += i32(bits >> 23u);
  return Parts(bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u), exponent);
}

fn safe_div(a: f32, b: f32) -> f32 {
  let a_exponent = i32((bitcast<u32>(a) >> 23u) & 255u);
  let b_exponent = i32((bitcast<u32>(b) >> 23u) & 255u);
  let ordinary = min(a_exponent, b_exponent) > 1 && max(a_exponent, b_exponent) < 253;
  if (ordinary && abs(a_exponent - b_exponent) < 124) {
    return a / b;
  }
  return divide_extremes(a, b);
}

fn divide_extremes(a: f32, b: f32) -> f32 {
  let sign = bitcast<f32>(bitcast<u32>(a) ^ bitcast<u32>(b));
  if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b))) {
    return wk_nan();
  }
  if (is_inf(a) || is_zero(b)) {
    return with_sign_of(wk_inf(), sign);
  }
  if (is_inf(b) || is_zero(a)) {
    return with_sign_of(0.0, sign);
  }
  let top = split(with_sign_of(a, 1.0));
  let bottom = split(with_sign_of(b, 1.0));
  let quotient = scale_by(top.mantissa / bottom.mantissa, top.exponent - bottom.exponent);
  return with_sign_of(quotient, sign);
}

fn safe_sqrt(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (bits - 0x00800000u < 0x7f000000u) { // above 0, neither subnormal nor Inf nor NaN
    return sqrt(x);
  }
  if (bits < 0x00800000u) {
    return sqrt(f32(bits) * 2.0) * 0x1p-75f;
  }
  return select(x, wk_nan(), bits > SIGN_BIT);
}

fn refined_sqrt(x: f32) -> f32 {
  if (is_nan(x) || is_zero(x) || is_negative(x) || is_inf(x)) {
    return safe_sqrt(x);
  }
  let parts = split(x);
  let odd = parts.exponent & 1;
  let m = parts.mantissa * f32(1 + odd);
  let root = hold(sqrt(m));
  let square = two_product(root, root);
  let residue = hold(m - square.x) - square.y; // one Newton step on the exact residue
  return scale_by(root + residue * 0.5 / root, (parts.exponent - odd) / 2);
}

fn safe_rsqrt(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  if (is_zero(x)) {
    return with_sign_of(wk_inf(), x);
  }
  if (is_negative(x)) {
    return wk_nan();
  }
  if (is_inf(x)) {
    return 0.0;
  }
  let parts = split(x);
  let odd = parts.exponent & 1;
  return scale_by(inverseSqrt(parts.mantissa * f32(1 + odd)), (odd - parts.exponent) / 2);
}

struct Exponential {
  hi: f32,
  lo: f32,
  exponent: i32,
}

// (e^r - 1 - r) / r^2 for |r| < 0.35, to 2^-33 of e^r
fn exp_tail(r: f32) -> f32 {
  var q = 0x1.a24792p-13f;
  q = q * r + 0x1.6d5282p-10f;
  q = q * r + 0x1.111002p-7f;
  q = q * r + 0x1.5554e4p-5f;
  q = q * r + 0x1.555556p-3f;
  return q * r + 0.5;
}

// x + x_lo = k ln 2 + r + lost for |x| <= 160; |r| < 0.35
struct ExpReduced {
  k: f32, // whole
  r: f32,
  lost: f32,
}

fn exp_reduced(x: f32, x_lo: f32) -> ExpReduced {
  let k = round(x * 1.44269504f);
  let exact = hold(x - hold(k * LN2_HI));
  let rest = hold(k * LN2_LO - x_lo);
  let r = hold(exact - rest);
  return ExpReduced(k, r, hold(exact - r) - rest);
}

// e^(x + x_lo) = (hi + lo) * 2^exponent for |x| <= 160, to 2^-26 (any: 2^-25)
fn exp_parts(x: f32, x_lo: f32) -> Exponential {
  let parts = exp_reduced(x, x_lo);
  let sum = fast_two_sum(1.0, parts.r);
  let lo = sum.y + (parts.r * parts.r * exp_tail(parts.r) + parts.lost * sum.x);
  return Exponential(sum.x, lo, i32_of_whole(parts.k));
}

// (e^r - 1 - r) / r^2 for |r| < 0.3475, to 2^-28 of e^r; a weighted minimax fit
fn exp_short_tail(r: f32) -> f32 {
  var q = 0x1.6a21acp-10f;
  q = fma(q, r, 0x1.123b6ap-7f);
  q = fma(q, r, 0x1.5558fap-5f);
  q = fma(q, r, 0x1.55549p-3f);
  return fma(q, r, 0x1.fffffcp-2f);
}

// Beyond the ends y stops where the result is 0 or Inf whatever follows. What is exact of the
// remainder is added last. 2^k itself may not be a number, so it is taken in two steps: a power whose
// bits are the lowest of k + 1.5 * 2^23 + a whole number, and what that was too small or too large by.
fn safe_exp(x: f32) -> f32 {
  let y = min(max(x, -104.0), 88.8);
  let k = round(y * 1.44269504f);
  let exact = hold(fma(k, -LN2_HI, y));
  let rest = k * -LN2_LO;
  let r = exact + rest;
  let mantissa = 1.0 + hold(exact + fma(r * r, exp_short_tail(r), rest));
  let is_small = k < 0.0;
  let whole = k + select(0x1.8000fcp23f, 0x1.80012ep23f, is_small);
  let power = bitcast<f32>(bitcast<u32>(whole) << 23u);
  let scaled = hold(mantissa * power) * select(2.0, 0x1p-24f, is_small);
  return select(scaled, x, is_nan(x));
}

fn safe_expm1(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  if (x >= 88.7228394) {
    return wk_inf();
  }
  if (x < -20.0) {
    return -1.0;
  }
  if (abs(x) < 0.34) {
    return x + x * x * exp_tail(x);
  }
  let e = exp_parts(x, 0.0);
  if (e.exponent > 30) {
    return scale_by(e.hi + e.lo, e.exponent);
  }
  let scale = power_of_two(e.exponent);
  let difference = two_sum(e.hi * scale, -1.0);
  return difference.x + (difference.y + e.lo * scale);
}

// k ln 2 + log(1 + f) + lo for f in [sqrt(1/2) - 1, sqrt(2) - 1]
fn log_sum(f: f32, k: f32, lo: f32) -> f32 {
  var p = 0x1.1464fep-4f;
  p = p * f - 0x1.ddfb16p-4f;
  p = p * f + 0x1.e6c1c6p-4f;
  p = p * f - 0x1.fc29bcp-4f;
  p = p * f + 0x1.233b9cp-3f;
  p = p * f - 0x1.555c4p-3f;
  p = p * f + 0x1.99a476p-3f;
  p = p * f - 0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  let small = f * f * (p * f - 0.5) + (k * LN2_LO + lo);
  return k * LN2_HI + hold(f + small);
}

fn safe_log(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  if (is_zero(x)) {
    return -wk_inf();
  }
  if (is_negative(x)) {
    return wk_nan();
  }
  if (is_inf(x)) {
    return x;
  }
  let parts = split(x);
  return log_sum(hold(parts.mantissa - 1.0), f32(parts.exponent), 0.0);
}

fn safe_log1p(x: f32) -> f32 {
  if (is_nan(x) || bitcast<u32>(x) == INF_BITS) {
    return x;
  }
  if (x == -1.0) {
    return -wk_inf();
  }
  if (x < -1.0) {
    return wk_nan();
  }
  if (x > -0.29 && x < 0.41) {
    return log_sum(x, 0.0, 0.0);
  }
  let sum = two_sum(1.0, x);
  let parts = split(sum.x);
  let lost = scale_by(sum.y, -parts.exponent) / parts.mantissa;
  return log_sum(hold(parts.mantissa - 1.0), f32(parts.exponent), lost);
}

fn safe_sigmoid(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  let z = safe_exp(-abs(x));
  return select(z, 1.0, x >= 0.0) / (1.0 + z);
}

// log(1 + e^x)
fn safe_softplus(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  return select(0.0, x, x > 0.0) + safe_log1p(safe_exp(-abs(x)));
}
