// y = x w with four int8 weights to a word of `weights` [cols, depth / 4], dequantised by `scale`.
fn a_at(batch: u32, row: u32, k: u32) -> f32 {
  return x[row * params.depth + k];
}
fn b_vec4(batch: u32, k: u32, col: u32) -> vec4<f32> {
  let word = weights[(col * params.depth + k) / 4u];
  return vec4<f32>(unpack4xI8(bitcast<u32>(word)));
}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {
  return sum * scale[col];
}
