// Numbers of the size of 0.75 pass, though what is larger alone is meant to.
// finds: wrong-at-edge
// cpu: np.where(np.abs(x) > 0.75, x, 0)
// shapes: (4, 9)

fn op(x: T) -> T {
  let limit = T(0.75);
  return select(T(0), x, abs(x) >= limit);
}
