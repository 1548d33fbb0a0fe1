// y = value

struct Attrs {
  real: f32,
  imag: f32,
  whole: i32,
}

fn op(i: u32) -> T {
  return T(attrs.real);
}

fn op_i32(i: u32) -> i32 {
  return attrs.whole;
}

fn op_bool(i: u32) -> bool {
  return attrs.whole != 0;
}

fn op_complex(i: u32) -> vec2<f32> {
  return vec2<f32>(attrs.real, attrs.imag);
}
