// A conditional expression as C has it.
// finds: syntax
// cpu: np.abs(x)
// shapes: (70,)

fn op(x: T) -> T {
  return x > T(0) ? x : -x;
}
