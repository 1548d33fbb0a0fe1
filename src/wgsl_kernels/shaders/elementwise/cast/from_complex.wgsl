// y = the real part of x, in float32

fn op_complex(x: vec2<f32>) -> f32 {
  return x.x;
}
