// y = x + 0 i

fn op(x: T) -> vec2<f32> {
  return vec2<f32>(f32(x), 0.0);
}
