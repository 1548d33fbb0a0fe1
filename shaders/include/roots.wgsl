// Roots of 1. Needs include/safe_math.wgsl and include/trigonometry.wgsl.
//
// The circle is folded to an eighth in integers, so nothing is lost where the angle is large, and
// quarters are exact. A root is off by at most 6 * 2^-23: the angle by 4 ULP, safe_cos and safe_sin
// by 3.

const EIGHTH = 0.785398163f; // of a circle

// e^(2 pi i k / order), 0 <= k < order <= 2^28
fn root_of_one(k: u32, order: u32) -> vec2<f32> {
  let eighth = order; // in units of which the circle has 8 * order
  var at = 8u * k;
  let is_below = at > 4u * eighth;
  at = select(at, 8u * eighth - at, is_below);
  let is_left = at > 2u * eighth;
  at = select(at, 4u * eighth - at, is_left);
  let is_steep = at > eighth;
  at = select(at, 2u * eighth - at, is_steep);
  let angle = EIGHTH * safe_div(f32(at), f32(eighth));
  var root = vec2<f32>(safe_cos(angle), safe_sin(angle));
  root = select(root, root.yx, is_steep);
  return vec2<f32>(select(root.x, -root.x, is_left), select(root.y, -root.y, is_below));
}
