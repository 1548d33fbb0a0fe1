// The place of the largest is kept in 16 bits, which are too few for rows above 65,536.
// finds: wrong-at-size
// cpu: np.argmax(x, axis=axis).astype(np.int32)
// y: x.like(shape=x.shape[:-1], dtype="int32")
// shapes: (4, 9)
// attrs: axis=-1

struct Best { value: f32, place: u32 }

fn init() -> Best {
  return Best(-wk_inf(), 0xffffffffu);
}

fn lift(x: T, i: u32) -> Best {
  return Best(f32(x), i & 0xffffu);
}

fn combine(a: Best, b: Best) -> Best {
  if (b.value > a.value || (b.value == a.value && b.place < a.place)) {
    return b;
  }
  return a;
}

fn finish(best: Best) -> T_y {
  return T_y(best.place);
}
