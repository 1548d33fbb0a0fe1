// x / 0 is x in WGSL and 0 in the formula.
// finds: wrong-at-edge
// cpu: np.where(z == 0, 0, x // np.where(z == 0, 1, z)).astype(np.int32)
// sig: lambda x, z, /: x.like()
// shapes: (50,), (50,)
// dtype: int32
// low: (0, 1)
// high: (100, 9)

fn op(x: T, z: T) -> T {
  return x / z;
}
