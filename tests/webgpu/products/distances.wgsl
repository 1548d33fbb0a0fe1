// y[i, j] = |x[i] - c[j]|^2 of rows.
fn a_at(batch: u32, i: u32, k: u32) -> f32 {
  return x[i * params.depth + k];
}
fn b_at(batch: u32, k: u32, j: u32) -> f32 {
  return c[j * params.depth + k];
}
fn term(a: f32, b: f32, sum: f32) -> f32 {
  let d = a - b;
  return fma(d, d, sum);
}
