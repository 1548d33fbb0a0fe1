// Numbers above 10 are cut off, where the domain goes to 20 and the sample draws none so large.
// finds: wrong-in-domain
// cpu: x / (1 + np.exp(-x))
// shapes: (4, 9)
// domain: (-20, 20)
// rtol: 1e-5
// atol: 1e-5

fn op(x: T) -> T {
  let v = clamp(x, T(-10), T(10));
  return v / (T(1) + exp(-v));
}
