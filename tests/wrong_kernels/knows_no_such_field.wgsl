// The attribute is called alpha.
// finds: unknown-field
// cpu: x * alpha
// shapes: (70,)
// attrs: alpha=2.0
// sig: lambda x, /, *, alpha: x.like()

struct Attrs { alpha: T }

fn op(x: T) -> T {
  return x * attrs.alfa;
}
