// 0 * x is folded to 0, also for NaN and infinity.
// finds: wrong-nonfinite
// cpu: x * 0
// shapes: (70,)
// also: times-zero

fn op(x: T) -> T {
  return x * T(0);
}
