// The sample has equal shapes, and the rule sums over no axis that was broadcast.
// finds: gradient-raises wrong-gradient
// cpu: x * z
// sig: lambda x, z, /: x.like(shape=np.broadcast_shapes(x.shape, z.shape))
// shapes: (4, 5), (4, 5)
// grad: lambda dy, x, z: (dy * z, dy * x)

fn op(x: T, z: T) -> T {
  return x * z;
}
