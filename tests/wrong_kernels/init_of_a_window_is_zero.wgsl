// init is zero at both ends, which changes the range of a window whose numbers have one sign.
// finds: broken-law
// cpu: np.ptp(np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(1, 2)), axis=(-2, -1))
// shapes: (2, 5, 4, 3)
// y: x.like(shape=(x.shape[0], x.shape[1] - 1, x.shape[2] - 1, x.shape[3]))
// attrs: filter_size=2, strides=1
// form: "window"

struct Ends { low: f32, high: f32 }

fn init() -> Ends {
  return Ends(0.0, 0.0);
}

fn lift(x: T) -> Ends {
  return Ends(f32(x), f32(x));
}

fn combine(a: Ends, b: Ends) -> Ends {
  return Ends(min(a.low, b.low), max(a.high, b.high));
}

fn finish(a: Ends) -> T_y {
  return T_y(a.high - a.low);
}
