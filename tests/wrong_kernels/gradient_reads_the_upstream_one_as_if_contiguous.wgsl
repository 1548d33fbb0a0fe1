// The rule's own kernel forgets the strides of dy.
// finds: gradient-layout gradient-parity
// cpu: x * x
// shapes: (3, 4)
// grad: lambda dy, x: flat_scale(dy, x)

fn op(x: T) -> T {
  return x * x;
}
