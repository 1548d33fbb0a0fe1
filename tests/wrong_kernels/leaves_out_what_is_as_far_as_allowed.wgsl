// Numbers that are as far apart as allowed are near, and these are left out.
// finds: wrong-at-edge
// cpu: np.abs(a - b) <= tol + rel * np.abs(b)
// sig: lambda a, b, /, *, tol, rel: a.like(dtype="bool") if a.shape == b.shape else 1 / 0
// shapes: ((5, 9), (5, 9))
// attrs: tol=0.125, rel=0.25

struct Attrs { tol: f32, rel: f32 }

fn op(a: T, b: T) -> bool {
  return abs(a - b) < attrs.tol + attrs.rel * abs(b);
}
