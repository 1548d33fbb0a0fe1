// init is one where a sum begins with zero.
// finds: wrong-values
// cpu: np.sum(x, axis=-1)
// shapes: (3, 5)
// y: x.like(shape=x.shape[:-1])
// attrs: axis=-1

fn init() -> T {
  return T(1);
}

fn combine(a: T, b: T) -> T {
  return a + b;
}
