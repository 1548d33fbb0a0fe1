// The rule forgets a factor of two.
// finds: wrong-gradient
// cpu: x * x
// shapes: (2, 3)
// grad: lambda dy, x: dy * x

fn op(x: T) -> T {
  return x * x;
}
