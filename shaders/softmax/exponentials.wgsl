// The sum of e^x over elements as e^top * total, top being their maximum. One exponential per
// element: where a new maximum comes, what there was is scaled, else the element.
//
// Infinities take part as the largest numbers, so that no difference of two is NaN: -Inf with a
// total of 0, Inf with one of Inf, and NaN has a total of NaN.
//
// Source: Milakov and Gimelshein, Online Normalizer Calculation for Softmax, 2018.

#include "include/exp_below.wgsl"
#include "include/safe_math.wgsl"

const LARGEST = 0x1.fffffep127f;

struct Exponentials {
  top: f32,
  total: f32,
}

fn init() -> Exponentials {
  return Exponentials(-LARGEST, 0.0);
}

fn lift(given: T) -> Exponentials {
  let x = f32(given);
  let bits = bitcast<u32>(x);
  let special = select(x, 0.0, bits == 0xff800000u);
  let total = select(1.0, special, (bits & 0x7fffffffu) >= 0x7f800000u);
  return Exponentials(min(max(x, -LARGEST), LARGEST), total);
}

fn combine(a: Exponentials, b: Exponentials) -> Exponentials {
  let scale = exp_below(-abs(a.top - b.top));
  let is_new = b.top > a.top;
  let total = select(fma(b.total, scale, a.total), fma(a.total, scale, b.total), is_new);
  return Exponentials(select(a.top, b.top, is_new), total);
}

// Of what has the total 0 all elements are -Inf, of what has Inf one is Inf.
fn is_ordinary(sum: Exponentials) -> bool {
  return is_finite(sum.total) && !is_zero(sum.total);
}
