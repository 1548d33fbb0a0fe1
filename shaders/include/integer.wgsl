// Integer arithmetic: WGSL's division on every driver, Python's floor division and modulo, powers
// that wrap, the 64-bit product. The rules: x / 0 = x, x % 0 = 0, INT_MIN / -1 = INT_MIN.
//
// On OpenGL naga passes / and % through to GLSL, which leaves a zero divisor and the remainder of
// negative numbers undefined (seen on llvmpipe: 5 / 0 = 0, -5 % 3 = 2). So kernels call these.

// The divisor, or 1 where the quotient is to be the dividend
fn usable_divisor(a: i32, b: i32) -> i32 {
  return select(b, 1, b == 0 || (b == -1 && a == bitcast<i32>(0x80000000u)));
}

// Toward zero
fn div_i32(a: i32, b: i32) -> i32 {
  return a / usable_divisor(a, b);
}

// The remainder takes the sign of the dividend.
fn rem_i32(a: i32, b: i32) -> i32 {
  let divisor = usable_divisor(a, b);
  return a - a / divisor * divisor;
}

// The remainder takes the sign of the divisor.
fn floor_mod_i32(a: i32, b: i32) -> i32 {
  let remainder = rem_i32(a, b);
  return select(remainder, remainder + b, remainder != 0 && (remainder < 0) != (b < 0));
}

fn floor_div_i32(a: i32, b: i32) -> i32 {
  let remainder = rem_i32(a, b);
  return div_i32(a, b) - select(0, 1, remainder != 0 && (remainder < 0) != (b < 0));
}

// base^exponent modulo 2^32. A negative exponent truncates the fraction to 0; so does 0 to a
// negative power.
fn pow_i32(base: i32, exponent: i32) -> i32 {
  if (exponent < 0) {
    let parity = select(1, -1, (exponent & 1) == 1);
    return select(select(0, parity, base == -1), 1, base == 1);
  }
  var result = 1;
  var square = base;
  for (var left = u32(exponent); left != 0u; left >>= 1u) {
    if ((left & 1u) == 1u) {
      result *= square;
    }
    square *= square;
  }
  return result;
}

// a * b as (high word, low word), by 16-bit halves
fn mul_wide(a: u32, b: u32) -> vec2<u32> {
  let a_lo = a & 0xffffu;
  let a_hi = a >> 16u;
  let b_lo = b & 0xffffu;
  let b_hi = b >> 16u;
  let low = a_lo * b_lo;
  let middle = a_hi * b_lo + (low >> 16u); // below 2^32: (2^16 - 1)^2 + 2^16 - 1
  let other = a_lo * b_hi + (middle & 0xffffu);
  let high = a_hi * b_hi + (middle >> 16u) + (other >> 16u);
  return vec2<u32>(high, (other << 16u) | (low & 0xffffu));
}
