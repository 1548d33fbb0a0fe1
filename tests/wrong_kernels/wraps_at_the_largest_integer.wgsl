// The mean of two integers by their sum, which wraps near the largest.
// finds: wrong-at-edge
// cpu: ((x.astype(np.int64) + z) // 2).astype(np.int32)
// sig: lambda x, z, /: x.like()
// shapes: (50,), (50,)
// dtype: int32
// low: -100
// high: 100

fn op(x: T, z: T) -> T {
  return (x + z) >> 1u;
}
