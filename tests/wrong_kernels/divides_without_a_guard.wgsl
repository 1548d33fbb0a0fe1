// 0 / 0 where the CPU kernel gives 0.
// finds: wrong-nonfinite
// cpu: np.divide(x, np.abs(x), out=np.zeros_like(x), where=x != 0)
// shapes: (70,)

fn op(x: T) -> T {
  return x / abs(x);
}
