// y[k] = product of x up to k, in f32 whatever float type x has
//
// A product is kept as m * 2^e, (m, e), with 1 <= |m| < 2 where it is finite and not 0: the product
// of a part may be beyond f32 where that of the whole row is not, and 0 * Inf would be NaN. The
// exponents are whole numbers, exact below 2^24.
#include "include/safe_math.wgsl"

alias Total = vec2<f32>;

fn init() -> Total {
  return Total(1.0, 0.0);
}

fn combine(a: Total, b: Total) -> Total {
  return normalized(a.x * b.x, a.y + b.y);
}

fn normalized(mantissa: f32, exponent: f32) -> Total {
  if (abs(mantissa) >= 2.0) {
    return Total(mantissa * 0.5, exponent + 1.0);
  }
  return Total(mantissa, exponent);
}

fn lift(x: T) -> Total {
  let value = f32(x);
  if (is_zero(value) || !is_finite(value)) {
    return Total(value, 0.0);
  }
  let parts = split(abs(value)); // its mantissa is in [sqrt(1/2), sqrt(2))
  return normalized(with_sign_of(2.0 * parts.mantissa, value), f32(parts.exponent - 1));
}

fn finish(total: Total) -> T_y {
  return T_y(scale_by(total.x, i32(clamp(total.y, -300.0, 300.0))));
}
