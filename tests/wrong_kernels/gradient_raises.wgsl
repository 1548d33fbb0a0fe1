// The rule reshapes to a shape that it does not have.
// finds: gradient-raises
// cpu: x * x
// shapes: (2, 3)
// grad: lambda dy, x: wk.reshape(dy, (7,)) * x

fn op(x: T) -> T {
  return x * x;
}
