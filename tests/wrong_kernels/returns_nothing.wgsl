// A path ends without a value.
// finds: missing-return
// cpu: np.abs(x)
// shapes: (70,)

fn op(x: T) -> T {
  if (x > T(0)) {
    return x;
  }
}
