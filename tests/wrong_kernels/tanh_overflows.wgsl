// tanh by exp is infinity over infinity for large numbers.
// finds: wrong-at-extreme
// cpu: np.tanh(x)
// shapes: (70,)
// rtol: 1e-4
// atol: 1e-5

fn op(x: T) -> T {
  let e = exp(T(2) * x);
  return (e - T(1)) / (e + T(1));
}
