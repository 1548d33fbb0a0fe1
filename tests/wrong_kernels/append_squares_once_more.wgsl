// append squares an element that lift has not squared: what it adds is another element.
// finds: broken-law
// cpu: np.sum(np.abs(x), axis=-1)
// shapes: (3, 5)
// y: x.like(shape=x.shape[:-1])
// attrs: axis=-1

fn init() -> f32 {
  return 0.0;
}

fn lift(x: T) -> f32 {
  return abs(f32(x));
}

fn append(a: f32, x: T) -> f32 {
  return a + f32(x) * f32(x);
}

fn combine(a: f32, b: f32) -> f32 {
  return a + b;
}
