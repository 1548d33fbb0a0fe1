// One input is broadcast, its gradient is not summed.
// finds: gradient-raises wrong-gradient gradient-parity
// cpu: a * b
// shapes: (4, 3), (3,)
// sig: lambda a, b, /: a.like()
// grad: lambda dy, a, b: (dy * b, dy * a)

fn op(a: T, b: T) -> T {
  return a * b;
}
