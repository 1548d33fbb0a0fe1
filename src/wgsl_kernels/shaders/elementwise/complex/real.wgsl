// y = the real part of the input

fn op_complex(input: vec2<f32>) -> f32 {
  return input.x;
}
