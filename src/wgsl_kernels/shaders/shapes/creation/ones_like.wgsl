// y = 1, in the shape of x

fn op(i: u32) -> T {
  return T(1);
}

fn op_complex(i: u32) -> vec2<f32> {
  return vec2<f32>(1.0, 0.0);
}
