// y = a + b

fn op(a: T, b: T) -> T {
  return a + b;
}

fn op_bool(a: bool, b: bool) -> bool {
  return a || b;
}

fn op_complex(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return a + b;
}
