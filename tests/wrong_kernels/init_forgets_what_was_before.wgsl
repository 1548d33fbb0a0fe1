// init is a line of slope 0, which forgets what was before it, where the identity has slope 1.
// finds: broken-law
// cpu: np.stack([sum(0.5 ** (k - j + 1) * x[..., j] for j in range(k + 1)) for k in range(x.shape[-1])] or [x[..., 0]], axis=-1) if x.size else x
// shapes: (3, 5)
// attrs: axis=-1
// form: "scan"

struct Line { slope: f32, offset: f32 }

fn init() -> Line {
  return Line(0.0, 0.0);
}

fn lift(x: T) -> Line {
  return Line(0.5, 0.5 * f32(x));
}

fn combine(a: Line, b: Line) -> Line {
  return Line(a.slope * b.slope, b.slope * a.offset + b.offset);
}

fn finish(a: Line) -> T_y {
  return T_y(a.offset);
}
