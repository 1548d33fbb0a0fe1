// A let keeps its value.
// finds: immutable
// cpu: x * 2
// shapes: (70,)

fn op(x: T) -> T {
  let y = x;
  y = y * T(2);
  return y;
}
