// y = log(1 + x); of integers cut toward zero, and 0 where that is no int32
#include "include/safe_math.wgsl"

// The k-th is the largest x with log(1 + x) < k + 1.
const LAST = array<i32, 21>(
  1, 6, 19, 53, 147, 402, 1095, 2979, 8102, 22025, 59873, 162753, 442412, 1202603, 3269016,
  8886109, 24154951, 65659968, 178482299, 485165194, 1318815733,
);

fn op_f32(x: T) -> T {
  return T(safe_log1p(f32(x)));
}

fn op_i32(x: i32) -> i32 {
  var last = LAST;
  var y = 0;
  for (var k = 0; k < 21; k++) {
    y += select(0, 1, x > last[k]);
  }
  return y;
}

fn op_bool(x: bool) -> bool {
  return false; // log(2) is cut to 0
}
