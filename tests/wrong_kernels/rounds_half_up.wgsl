// floor(x + 0.5) is not NumPy's round.
// finds: wrong-values
// cpu: np.round(x)
// shapes: (4,)
// values: [0.5, 1.5, 2.5, -0.5]

fn op(x: T) -> T {
  return floor(x + T(0.5));
}
