// Numbers that are equal to the attribute pass, though what is larger alone is meant to.
// finds: wrong-at-edge
// cpu: np.where(x > least, x, -1)
// shapes: (4, 9)
// attrs: least=0.3
// sig: lambda x, /, *, least: x.like()

struct Attrs { least: f32 }

fn op(x: T) -> T {
  return select(T(-1), x, x >= T(attrs.least));
}
