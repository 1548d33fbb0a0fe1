// log(1 + exp(x)) is infinite from 89 on.
// finds: wrong-at-extreme
// cpu: np.logaddexp(x, 0)
// shapes: (70,)
// rtol: 1e-5
// atol: 1e-5

fn op(x: T) -> T {
  return log(T(1) + exp(x));
}
