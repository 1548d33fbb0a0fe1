// The gradients of two inputs are given in the wrong order.
// finds: wrong-gradient
// cpu: a * b
// shapes: (2, 3), (2, 3)
// sig: lambda a, b, /: a.like()
// grad: lambda dy, a, b: (dy * a, dy * b)

fn op(a: T, b: T) -> T {
  return a * b;
}
