// The error function and its complement; bounds in include/safe_math.wgsl, which this file needs.

// log(erfc(a)) for a in [1, 4], to 2^-35 of erfc(1)
fn log_erfc(a: f32) -> f32 {
  var p = -0x1.6bddb2p-16f;
  p = p * a + 0x1.cecaacp-12f;
  p = p * a - 0x1.138e3p-8f;
  p = p * a + 0x1.9d03ecp-6f;
  p = p * a - 0x1.bc1564p-4f;
  p = p * a - 0x1.44356p-1f;
  p = p * a - 0x1.212c0ep+0f;
  return p * a + 0x1.8a5954p-13f;
}

fn safe_erf(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) {
    return x;
  }
  if (a < 1.0) {
    let z = x * x;
    var p = 0x1.4c344ep-14f;
    p = p * z - 0x1.a50b0ep-11f;
    p = p * z + 0x1.542e1p-8f;
    p = p * z - 0x1.b7fe9p-6f;
    p = p * z + 0x1.ce2d5p-4f;
    p = p * z - 0x1.81274p-2f;
    p = p * z + 0x1.06eba8p-3f;
    return x + x * p;
  }
  if (a > 4.0) {
    return with_sign_of(1.0, x);
  }
  return with_sign_of(1.0 - safe_exp(log_erfc(a)), x);
}
