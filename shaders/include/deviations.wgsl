// Sums of squared deviations from the mean. A chain of elements is summed as differences from its
// first one, without a division; chains are joined by their means.
//
// A chain has at most 128 elements of which the first is one, so the squares that are summed
// exceed the deviations' at most 129 times, and that only where the first alone lies far off.
//
// Where the squares of finite elements overflow they are infinite and the mean is taken as 0; where
// an element is infinite or NaN they are NaN.
//
// Source: Chan, Golub, LeVeque, Algorithms for Computing the Sample Variance, 1983.

#include "include/safe_math.wgsl"

struct Deviations {
  count: f32,
  origin: f32,
  sum: f32, // of x - origin
  squares: f32, // of (x - origin)^2
}

fn init() -> Deviations {
  return Deviations(0.0, 0.0, 0.0, 0.0);
}

fn lift(x: T) -> Deviations {
  return Deviations(1.0, f32(x), 0.0, 0.0);
}

fn combine(a: Deviations, b: Deviations) -> Deviations {
  if (b.count == 1.0) { // known where b is lifted, so that nothing but this is left
    let origin = select(a.origin, b.origin, a.count == 0.0);
    let x = b.origin - origin;
    let squares = fma(b.origin, hold(0.0), a.squares); // infinity times 0 is NaN
    return Deviations(a.count + 1.0, origin, a.sum + x, fma(x, x, squares));
  }
  let one = centred(a);
  let other = centred(b);
  let count = one.count + other.count;
  if (other.count == 0.0 || one.count == 0.0) {
    return Deviations(count, one.origin + other.origin, 0.0, one.squares + other.squares);
  }
  let share = other.count / count;
  let apart = other.origin - one.origin;
  let squares = one.squares + other.squares + (apart * share) * (apart * one.count);
  let origin = select(one.origin + apart * share, 0.0, is_inf(squares));
  return Deviations(count, origin, 0.0, squares);
}

// The same with the mean as origin
fn centred(a: Deviations) -> Deviations {
  if (a.count == 0.0) {
    return a;
  }
  let shift = a.sum / a.count;
  let squares = a.squares - shift * a.sum;
  let is_below = squares < 0.0 && is_finite(squares);
  let is_over = is_inf(a.squares);
  let kept = select(select(squares, 0.0, is_below), a.squares, is_over);
  return Deviations(a.count, select(a.origin + shift, 0.0, is_over), 0.0, kept);
}
