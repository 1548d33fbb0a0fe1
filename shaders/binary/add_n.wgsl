// y = a + b + c + d        four of the inputs, from the first to the last

fn op(a: T, b: T, c: T, d: T) -> T {
  return ((a + b) + c) + d;
}

fn op_complex(a: vec2<f32>, b: vec2<f32>, c: vec2<f32>, d: vec2<f32>) -> vec2<f32> {
  return ((a + b) + c) + d;
}
