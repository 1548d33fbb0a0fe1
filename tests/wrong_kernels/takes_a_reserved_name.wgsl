// A variable is called target, which WGSL keeps.
// finds: reserved-word
// cpu: x * 2
// shapes: (70,)

fn op(x: T) -> T {
  let target = x * T(2);
  return target;
}
