// Of integers from 700 on 700 itself is left out.
// finds: wrong-at-edge
// cpu: np.where(x >= 700, 1, 0).astype(x.dtype)
// shapes: (40,)
// dtype: int32
// low: 0
// high: 2000

fn op(x: T) -> T {
  return select(T(0), T(1), x > 700);
}
