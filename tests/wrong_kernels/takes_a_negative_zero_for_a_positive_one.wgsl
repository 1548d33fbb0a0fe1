// 1 / x is -Inf at -0, and a comparison takes both zeros for equal.
// finds: zero-sign
// sig: lambda x, z, /: x.like()
// cpu: np.where(x == 0, np.copysign(1, x), z)
// shapes: ((70,), (70,))

fn op(x: T, z: T) -> T {
  return select(z, T(1), x == T(0));
}
