// The attribute is read as if it were one.
// finds: wrong-values
// cpu: x * alpha
// shapes: (70,)
// attrs: alpha=3.0
// sig: lambda x, /, *, alpha: x.like()

struct Attrs { alpha: T }

fn op(x: T) -> T {
  return x * attrs.alpha * attrs.alpha;
}
