// y = 0, in the shape of x

fn op(i: u32) -> T {
  return T();
}

fn op_complex(i: u32) -> vec2<f32> {
  return vec2<f32>();
}
