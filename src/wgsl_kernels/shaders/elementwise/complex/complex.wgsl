// y = real + i imag

fn op(real: T_real, imag: T_imag) -> vec2<f32> {
  return vec2<f32>(f32(real), f32(imag));
}
