// e^x for x <= 0, without the cases that safe_exp has for others: 3 ULP for any rounding, 2 to
// nearest; 0 below -87.7, where the result would be subnormal. NaN gives a number.
//
// A power of 2^-127 is the bits 0, so that what lies below is 0 without a test. A whole k + 127 is
// the lowest bits of itself + 1.5 * 2^23.
// Needs include/safe_math.wgsl.

fn exp_below(x: f32) -> f32 {
  let k = round(max(x, -88.0) * 1.44269504f);
  let r = fma(k, -LN2_LO, hold(fma(k, -LN2_HI, max(x, -88.0))));
  let power = bitcast<f32>(bitcast<u32>(k + 0x1.8000fep23f) << 23u);
  return fma(r, fma(r, exp_short_tail(r), 1.0), 1.0) * power;
}
