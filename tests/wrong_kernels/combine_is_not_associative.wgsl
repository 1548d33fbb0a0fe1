// combine subtracts, which is right for two elements alone.
// finds: wrong-values wrong-at-size
// cpu: x[..., 0] - np.sum(x[..., 1:], axis=-1)
// shapes: (3, 5)
// y: x.like(shape=x.shape[:-1])
// attrs: axis=-1

fn init() -> T {
  return T(0);
}

fn combine(a: T, b: T) -> T {
  return a - b;
}
