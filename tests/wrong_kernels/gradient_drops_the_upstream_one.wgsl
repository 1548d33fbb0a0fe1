// The rule ignores what arrives.
// finds: wrong-gradient
// cpu: x * x
// shapes: (2, 3)
// grad: lambda dy, x: 2.0 * x

fn op(x: T) -> T {
  return x * x;
}
