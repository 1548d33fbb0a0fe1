// floor(x + 0.5) is not NumPy's round; random numbers hold no halves.
// finds: wrong-though-bounded
// cpu: np.round(x)
// shapes: (100,)

fn op(x: T) -> T {
  return floor(x + 0.5);
}
