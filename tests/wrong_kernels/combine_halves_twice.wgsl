// combine halves what it has halved already: the mean of two means is not the mean.
// finds: broken-law
// cpu: np.mean(x, axis=-1)
// shapes: (3, 2)
// y: x.like(shape=x.shape[:-1])
// attrs: axis=-1

struct Mean { count: f32, mean: f32 }

fn init() -> Mean {
  return Mean(0.0, 0.0);
}

fn lift(x: T) -> Mean {
  return Mean(1.0, f32(x));
}

fn combine(a: Mean, b: Mean) -> Mean {
  if (a.count == 0.0) {
    return b;
  }
  if (b.count == 0.0) {
    return a;
  }
  return Mean(a.count + b.count, 0.5 * (a.mean + b.mean));
}

fn finish(a: Mean) -> T_y {
  return T_y(a.mean);
}
