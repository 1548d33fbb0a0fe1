// y = x, row-major: what makes a plain array of a view

fn op(x: T) -> T {
  return x;
}

fn op_complex(x: vec2<f32>) -> vec2<f32> {
  return x;
}
