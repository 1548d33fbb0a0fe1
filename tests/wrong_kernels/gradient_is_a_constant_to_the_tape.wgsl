// The rule cannot be differentiated again.
// finds: wrong-second-order
// cpu: x * x * x
// shapes: (2, 3)
// grad: lambda dy, x: dy * wk.stop_gradient(3.0 * x * x)

fn op(x: T) -> T {
  return x * x * x;
}
