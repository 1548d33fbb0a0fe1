// float is not a type of WGSL.
// finds: unknown-name
// cpu: x * 2
// shapes: (70,)

fn op(x: T) -> T {
  return x * float(2);
}
