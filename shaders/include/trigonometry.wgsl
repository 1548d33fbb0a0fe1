// Circular functions and their inverses for every f32; bounds in include/safe_math.wgsl.
// Needs include/safe_math.wgsl and include/integer.wgsl.
//
// Below 800 the argument is reduced by pi/2 in four parts (Cody and Waite, Software Manual for the
// Elementary Functions, 1980), above by 96 bits of 2/pi in integers (Payne and Hanek, Radian
// Reduction for Trigonometric Functions, 1983).

const HALF_PI = 0x1.921fb6p+0f; // HALF_PI + HALF_PI_LO is pi / 2 to 2^-49
const HALF_PI_LO = -0x1.777a5cp-25f;

// 2 / pi in words of 32 bits: the whole part, then the fraction
const TWO_OVER_PI = array<u32, 8>(
  0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
);

struct Angle {
  hi: f32, // hi + lo in [-pi/4, pi/4], a hair more at the ends
  lo: f32,
  quadrant: u32, // quarter turns that were taken away, modulo 4
}

fn reduce_angle(x: f32) -> Angle {
  if (abs(x) < 0.785) {
    return Angle(x, 0.0, 0u);
  }
  if (abs(x) < 800.0) {
    return reduce_small_angle(x);
  }
  var angle = reduce_large_angle(bitcast<u32>(x) & ~SIGN_BIT);
  if (is_negative(x)) {
    angle = Angle(-angle.hi, -angle.lo, (4u - angle.quadrant) & 3u);
  }
  return angle;
}

fn reduce_small_angle(x: f32) -> Angle {
  let k = round(x * 0.636619772f);
  let exact = hold(x - hold(k * 0x1.921cp+0f)); // each part but the last has 15 bits, k has 9
  let second = two_sum(exact, -k * 0x1.daap-15f);
  let third = two_sum(second.x, -k * 0x1.10b4p-30f);
  let angle = fast_two_sum(third.x, hold(second.y + third.y) - k * 0x1.846988p-48f);
  return Angle(angle.x, angle.y, bitcast<u32>(i32_of_whole(k)) & 3u);
}

// x = mantissa * 2^(exponent - 150) is multiplied by those 96 bits of 2 / pi that matter modulo 4.
fn reduce_large_angle(bits: u32) -> Angle {
  let mantissa = (bits & 0x007fffffu) | 0x00800000u;
  let skip = (bits >> 23u) - 120u; // bits that only count whole turns; 16 to 134
  let shift = skip & 31u;
  var words = TWO_OVER_PI;
  let first = words[skip >> 5u];
  let second = words[(skip >> 5u) + 1u];
  let third = words[(skip >> 5u) + 2u];
  let fourth = words[(skip >> 5u) + 3u];
  let low = mul_wide(mantissa, funnel(third, fourth, shift));
  let middle = mul_wide(mantissa, funnel(second, third, shift));
  let high = mantissa * funnel(first, second, shift);
  let sum = middle.y + low.x;
  let top = high + middle.x + select(0u, 1u, sum < low.x);

  // of a quarter turn
  var fraction = vec2<u32>((top << 2u) | (sum >> 30u), (sum << 2u) | (low.y >> 30u));
  let above_half = (fraction.x >> 31u) == 1u;
  if (above_half) {
    fraction = vec2<u32>(~fraction.x + select(0u, 1u, fraction.y == 0u), ~fraction.y + 1u);
  }
  let zeros = countLeadingZeros(fraction.x); // below 32: no f32 is so close to a multiple of pi / 2
  fraction = vec2<u32>(funnel(fraction.x, fraction.y, zeros), fraction.y << zeros);
  let hi = f32(fraction.x >> 8u);
  let lo = f32(((fraction.x & 255u) << 16u) | (fraction.y >> 16u)) * 0x1p-24f;
  let product = two_product(hi, HALF_PI);
  let angle = fast_two_sum(product.x, product.y + (hi * HALF_PI_LO + lo * HALF_PI));
  let scale = power_of_two(-24 - i32(zeros)) * select(1.0, -1.0, above_half);
  return Angle(angle.x * scale, angle.y * scale, ((top >> 30u) + u32(above_half)) & 3u);
}

// The high word of (high, low) << shift, for shift in [0, 31]
fn funnel(high: u32, low: u32, shift: u32) -> u32 {
  return (high << shift) | select(0u, low >> ((32u - shift) & 31u), shift != 0u);
}

// sin(hi + lo), |hi| <= pi/4
fn sin_reduced(hi: f32, lo: f32) -> f32 {
  let z = hi * hi;
  var p = 0x1.7cbfdp-19f;
  p = p * z - 0x1.a05b8ap-13f;
  p = p * z + 0x1.111176p-7f;
  p = p * z - 0x1.555556p-3f;
  return hi + (hi * (z * p) + lo * (1.0 - 0.5 * z));
}

// cos(hi + lo), |hi| <= pi/4
fn cos_reduced(hi: f32, lo: f32) -> f32 {
  let z = hi * hi;
  var p = 0x1.99e0ecp-16f;
  p = p * z - 0x1.6c0c1ap-10f;
  p = p * z + 0x1.55554ap-5f;
  let head = fast_two_sum(1.0, hold(-0.5 * z));
  return head.x + (head.y + (z * z * p - hi * lo));
}

fn safe_sin(x: f32) -> f32 {
  if (!is_finite(x)) {
    return wk_nan();
  }
  let angle = reduce_angle(x);
  var y = 0.0;
  if ((angle.quadrant & 1u) == 0u) {
    y = sin_reduced(angle.hi, angle.lo);
  } else {
    y = cos_reduced(angle.hi, angle.lo);
  }
  return select(y, -y, angle.quadrant >= 2u);
}

fn safe_cos(x: f32) -> f32 {
  if (!is_finite(x)) {
    return wk_nan();
  }
  let angle = reduce_angle(x);
  var y = 0.0;
  if ((angle.quadrant & 1u) == 0u) {
    y = cos_reduced(angle.hi, angle.lo);
  } else {
    y = -sin_reduced(angle.hi, angle.lo);
  }
  return select(y, -y, angle.quadrant >= 2u);
}

fn safe_tan(x: f32) -> f32 {
  if (!is_finite(x)) {
    return wk_nan();
  }
  let angle = reduce_angle(x);
  let sine = sin_reduced(angle.hi, angle.lo);
  let cosine = cos_reduced(angle.hi, angle.lo);
  if ((angle.quadrant & 1u) == 0u) {
    return sine / cosine;
  }
  return -cosine / sine;
}

// atan(top / bottom) for 0 <= top <= bottom, bottom above 0; past tan(pi/8) about pi/4
fn atan_quotient(top: f32, bottom: f32) -> f32 {
  var t = 0.0;
  var start = vec2<f32>(0.0);
  if (top > 0.414213562 * bottom) {
    t = hold(top - bottom) / (top + bottom);
    start = vec2<f32>(0.5 * HALF_PI, 0.5 * HALF_PI_LO);
  } else {
    t = top / bottom;
  }
  let z = t * t;
  var p = -0x1.f31f26p-5f;
  p = p * z + 0x1.b22f08p-4f;
  p = p * z - 0x1.23ba44p-3f;
  p = p * z + 0x1.9991e8p-3f;
  p = p * z - 0x1.55554ap-2f;
  return start.x + (t + (t * (z * p) + start.y));
}

fn safe_atan(x: f32) -> f32 {
  if (is_nan(x)) {
    return x;
  }
  let a = abs(x);
  if (a > 1e9) {
    return with_sign_of(HALF_PI, x);
  }
  if (a > 1.0) {
    return with_sign_of(HALF_PI - (atan_quotient(1.0, a) - HALF_PI_LO), x);
  }
  return with_sign_of(atan_quotient(a, 1.0), x);
}

// The angle of the point (x, y), in [-pi, pi]
fn safe_atan2(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) {
    return wk_nan();
  }
  var first = 0.0; // the angle between the ray and the nearer half of the x axis, in [0, pi/2]
  if (is_inf(x) && is_inf(y)) {
    first = 0.785398163;
  } else if (!(is_zero(y) || is_inf(x))) {
    let ratio = safe_div(with_sign_of(y, 1.0), with_sign_of(x, 1.0));
    first = safe_atan(ratio);
  }
  if (is_negative(x)) {
    first = 2.0 * HALF_PI - (first - 2.0 * HALF_PI_LO);
  }
  return with_sign_of(first, y);
}

// asin(r) for 0 <= r <= 1/2, z = r^2
fn asin_reduced(r: f32, z: f32) -> f32 {
  var p = 0x1.59cc8ep-5f;
  p = p * z + 0x1.8bb538p-6f;
  p = p * z + 0x1.748a2cp-5f;
  p = p * z + 0x1.33016ap-4f;
  p = p * z + 0x1.5555cap-3f;
  return r + r * (z * p);
}

// Past 1/2: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2))
fn safe_asin(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) {
    return wk_nan();
  }
  if (a <= 0.5) {
    return with_sign_of(asin_reduced(a, a * a), x);
  }
  let z = 0.5 * hold(1.0 - a);
  return with_sign_of(HALF_PI - (2.0 * asin_reduced(refined_sqrt(z), z) - HALF_PI_LO), x);
}

fn safe_acos(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) {
    return wk_nan();
  }
  if (a <= 0.5) {
    return HALF_PI - (with_sign_of(asin_reduced(a, a * a), x) - HALF_PI_LO);
  }
  let z = 0.5 * hold(1.0 - a);
  let half_angle = asin_reduced(refined_sqrt(z), z);
  if (is_negative(x)) {
    return 2.0 * HALF_PI - (2.0 * half_angle - 2.0 * HALF_PI_LO);
  }
  return 2.0 * half_angle;
}
