// The rule holds for beta = 1 alone, the one value that the sample has.
// finds: wrong-gradient
// cpu: x * np.exp(beta * x)
// attrs: beta=1.0
// shapes: (10,)
// f: lambda x, *, beta=1.0: wk.run("gradient_is_right_for_one_beta", x, beta=beta)
// grad: lambda dy, x, beta: dy * wk.exp(beta * x) * (1.0 + x)

struct Attrs {
  beta: T,
}

fn op(x: T) -> T {
  return x * exp(attrs.beta * x);
}
