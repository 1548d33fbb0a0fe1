// init is a line of slope 0, which forgets what was before it, where the identity has slope 1.
// finds: broken-law
// cpu: np.frompyfunc(lambda y, v: 0.5 * y + v, 2, 1).accumulate(x, axis=-1, dtype=object).astype(x.dtype)
// shapes: (3, 5)
// attrs: axis=-1
// form: "scan"

struct Line { slope: f32, offset: f32 }

fn init() -> Line {
  return Line(0.0, 0.0);
}

fn lift(x: T) -> Line {
  return Line(0.5, f32(x));
}

fn combine(a: Line, b: Line) -> Line {
  return Line(a.slope * b.slope, b.slope * a.offset + b.offset);
}

fn finish(a: Line) -> T_y {
  return T_y(a.offset);
}
