// -0 is not below 0, so that it stays as it is.
// finds: zero-sign
// cpu: np.abs(x)
// shapes: (70,)

fn op(x: T) -> T {
  return select(x, -x, x < T(0));
}
