// The formula is one of floats, and the file does not say so.
// finds: claimed-dtype
// cpu: np.exp(x).astype(x.dtype)
// shapes: (70,)

fn op(x: T) -> T {
  return exp(x);
}
