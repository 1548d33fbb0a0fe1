// Statistics of a row or of a part of one: (top, total), top being the maximum, but 0 in place of
// -Inf, and total the sum of e^(x - top). Needs include/safe_math.wgsl and load_logits.

const GROUP = 64u;
const BLOCK = 128u; // a lane sums block by block: fewer roundings in a row

var<workgroup> tops: array<f32, GROUP>;
var<workgroup> totals: array<f32, GROUP>;

fn of_nothing() -> vec2<f32> {
  return vec2<f32>(-wk_inf(), 0.0);
}

fn finite_top(top: f32) -> f32 {
  return select(top, 0.0, is_inf(top) && is_negative(top));
}

// Of two parts, together
fn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let top = finite_top(safe_max(own_top(a), own_top(b)));
  return vec2<f32>(top, rescaled(a, top) + rescaled(b, top));
}

// A total is 0 only where all elements are -Inf: then the top is not theirs.
fn own_top(part: vec2<f32>) -> f32 {
  return select(part.x, -wk_inf(), is_zero(part.y));
}

fn rescaled(part: vec2<f32>, top: f32) -> f32 {
  if (is_zero(part.y)) {
    return 0.0;
  }
  return part.y * safe_exp(part.x - top);
}

// Of elements start + k * inner, k in [begin, end), by `lanes` neighbouring invocations, of which
// all of the workgroup must come here
fn measure(start: u32, inner: u32, begin: u32, end: u32, local: u32, lanes: u32) -> vec2<f32> {
  let lane = local % lanes;
  var top = -wk_inf();
  for (var k = begin + lane; k < end; k += lanes) {
    top = safe_max(top, f32(load_logits(start + k * inner)));
  }
  tops[local] = top;
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      tops[local] = safe_max(tops[local], tops[local + half]);
    }
  }
  workgroupBarrier();
  top = finite_top(tops[local - lane]);

  var total = 0.0;
  let stride = BLOCK * lanes;
  for (var block = begin + lane; block < end; block += stride) {
    var part = 0.0;
    for (var k = block; k < min(block + stride, end); k += lanes) {
      part += safe_exp(f32(load_logits(start + k * inner)) - top);
    }
    total += part;
  }
  totals[local] = total;
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      totals[local] += totals[local + half];
    }
  }
  workgroupBarrier();
  return vec2<f32>(top, totals[local - lane]);
}
