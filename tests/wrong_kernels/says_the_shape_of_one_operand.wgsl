// The signature gives a product the shape of its first input, though the second may broadcast it.
// finds: wrong-shape
// sig: lambda a, b, /: a.like()
// cpu: a * b
// shapes: ((4, 5), (4, 5))

fn op(a: T, b: T) -> T {
  return a * b;
}
