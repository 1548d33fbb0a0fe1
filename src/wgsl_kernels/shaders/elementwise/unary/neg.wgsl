// y = -x

fn op(x: T) -> T {
  return -x;
}

fn op_bool(x: bool) -> bool {
  return x;
}

fn op_complex(x: vec2<f32>) -> vec2<f32> {
  return -x;
}
