// The sum of e^x over elements as e^top * total, top being their maximum. One exponential per
// element: where a new maximum comes, what there was is scaled, else the element.
//
// The least top is a number, so that the difference to a next -Inf is one too, whose exponential is
// 0. Where there was Inf it is the top, whatever the total is then; NaN is seen in the largest bits.

#include "include/exp_below.wgsl"
#include "include/safe_math.wgsl"

const LARGEST = 0x1.fffffep127f;

struct Exponentials {
  top: f32,
  total: f32,
  largest: u32, // bits of all |x|; NaN has more than Inf
}

fn init() -> Exponentials {
  return Exponentials(-LARGEST, 0.0, 0u);
}

fn lift(given: T) -> Exponentials {
  let x = f32(given);
  return Exponentials(x, 1.0, bitcast<u32>(x) & ~SIGN_BIT);
}

fn combine(a: Exponentials, b: Exponentials) -> Exponentials {
  let scale = exp_below(-abs(a.top - b.top));
  let is_new = b.top > a.top;
  let total = select(fma(b.total, scale, a.total), fma(a.total, scale, b.total), is_new);
  let largest = max(a.largest, b.largest);
  return Exponentials(select(a.top, b.top, is_new), total, largest);
}

fn has_nan(sum: Exponentials) -> bool {
  return sum.largest > INF_BITS;
}

// Of what has the total 0 all elements are -Inf.
fn is_ordinary(sum: Exponentials) -> bool {
  return !has_nan(sum) && is_finite(sum.top) && !is_zero(sum.total);
}
