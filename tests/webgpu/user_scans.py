"""Texts of scans as a user writes them."""

RUNNING_MAX = """// y[k] = the largest of x up to k; NaN where one of them is
import wgsl_kernels::lib::safe_math::safe_max;

fn init() -> T { return T(-wk_inf()); }

fn combine(a: T, b: T) -> T { return T(safe_max(f32(a), f32(b))); }
"""
LOG_CUMSUM_EXP = """// y[k] = log of the sum of e^x up to k
struct Total { largest: f32, sum: f32 }

fn init() -> Total { return Total(-3.4e38, 0.0); }

fn lift(x: T) -> Total {
  let is_lowest = f32(x) < -3.4e38; // -Inf, which may come first, adds nothing
  return Total(select(f32(x), -3.4e38, is_lowest), select(1.0, 0.0, is_lowest));
}

fn combine(a: Total, b: Total) -> Total {
  let largest = max(a.largest, b.largest);
  return Total(largest, a.sum * exp(a.largest - largest) + b.sum * exp(b.largest - largest));
}

fn finish(total: Total) -> T_y { return T_y(total.largest + log(total.sum)); }
"""
RECURRENCE = """// y[k] = x[k].re * y[k - 1] + x[k].im: not commutative
fn init() -> vec2<f32> { return vec2<f32>(1.0, 0.0); }

fn lift(x: T) -> vec2<f32> { return x; }

fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x, b.x * a.y + b.y);
}

fn finish(total: vec2<f32>) -> f32 { return total.y; }
"""
LAST_ABOVE_ZERO = """// y[k] = the last of x up to k that is above 0, else -1: not commutative
struct Attrs { above: f32 }

fn init() -> vec2<f32> { return vec2<f32>(-1.0, 0.0); }

fn lift(x: T) -> vec2<f32> {
  if (x > attrs.above) { return vec2<f32>(x, 1.0); }
  return init();
}

fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  if (b.y > 0.0) { return b; }
  return a;
}

fn finish(total: vec2<f32>) -> f32 { return total.x; }
"""
ANY = """
fn init() -> bool { return false; }
fn combine(a: bool, b: bool) -> bool { return a || b; }
"""
PLACE_OF_LARGEST = """
struct Best { value: f32, place: u32 }
fn init() -> Best { return Best(-3.4e38, 0xffffffffu); }
fn lift(x: T, i: u32) -> Best { return Best(f32(x), i); }
fn combine(a: Best, b: Best) -> Best {
  if (b.value > a.value) { return b; }
  return a;
}
fn append(a: Best, x: T, i: u32) -> Best {
  if (f32(x) > a.value) { return Best(f32(x), i); }
  return a;
}
fn finish(best: Best) -> i32 { return i32(best.place); }
"""
MEAN = """
fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(total: f32, n: u32) -> f32 { return total / f32(max(n, 1u)); }
"""
LARGE = """
struct Total { sums: array<f32, 20> }
fn init() -> Total { return Total(); }
fn lift(x: T) -> Total {
  var made = Total();
  made.sums[7] = x;
  return made;
}
fn combine(a: Total, b: Total) -> Total {
  var made = a;
  made.sums[7] += b.sums[7];
  return made;
}
fn finish(total: Total) -> f32 { return total.sums[7]; }
"""
SUM_OF_MATRICES = """
fn init() -> mat4x4<f32> { return mat4x4<f32>(); }
fn lift(x: T) -> mat4x4<f32> { return x * mat4x4<f32>(vec4(1.0), vec4(1.0), vec4(1.0), vec4(1.0)); }
fn combine(a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> { return a + b; }
fn finish(total: mat4x4<f32>) -> f32 { return total[2].y; }
"""
SQUARES = """
fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return x * x; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
