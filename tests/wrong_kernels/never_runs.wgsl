// The sample calls another op.
// finds: kernel-not-run
// cpu: x * x
// shapes: (2, 3)
// f: lambda x: wk.exp(x)

fn op(x: T) -> T {
  return x * x;
}
