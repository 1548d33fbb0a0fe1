// y[n, i, j, c] = mean of the window of x that lies on the image; NaN where that is nothing
#include "include/safe_math.wgsl"

fn init() -> f32 {
  return 0.0;
}

fn lift(x: T) -> f32 {
  return f32(x);
}

fn combine(a: f32, b: f32) -> f32 {
  return a + b;
}

fn finish(sum: f32, n: u32) -> T_y {
  return T_y(safe_div(sum, f32(n)));
}
