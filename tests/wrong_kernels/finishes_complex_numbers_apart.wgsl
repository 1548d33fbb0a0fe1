// A reduction has no finish_complex, as a map has op_complex.
// finds: unread-hook
// warns: True
// cpu: np.sqrt(np.sum(x * x, axis=-1))
// shapes: (3, 5)
// y: x.like(shape=x.shape[:-1])
// attrs: axis=-1

fn init() -> T {
  return T(0);
}

fn lift(x: T) -> T {
  return x * x;
}

fn combine(a: T, b: T) -> T {
  return a + b;
}

fn finish(a: T) -> T {
  return sqrt(a);
}

fn finish_complex(a: vec2<f32>) -> vec2<f32> {
  return a;
}
