// NaN in the imaginary part is not looked for
// finds: wrong-nonfinite
// cpu: np.isnan(x)
// y: x.like(dtype="bool")
// shapes: (4, 5)
// dtype: complex64

fn op_complex(x: vec2<f32>) -> bool {
  return (bitcast<u32>(x.x) & 0x7fffffffu) > 0x7f800000u;
}
