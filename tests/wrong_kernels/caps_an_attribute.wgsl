// The attribute is cut off above that of the sample.
// finds: wrong-for-attribute
// cpu: (x + (np.arange(x.size) % period).reshape(x.shape)).astype(x.dtype)
// sig: lambda x, /, *, period: x.like() if period > 0 else 1 / 0
// shapes: (5, 13)
// attrs: period=4

struct Attrs { period: u32 }

fn op(x: f32, i: u32) -> f32 {
  return x + f32(i % min(attrs.period, 32u));
}
