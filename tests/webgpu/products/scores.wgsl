// y[head, i, j] = q[head, i] . keys[head, j] / sqrt(depth), and the least number where j > i.
fn a_at(head: u32, i: u32, d: u32) -> f32 {
  return q[(head * params.rows + i) * params.depth + d];
}
fn b_at(head: u32, d: u32, j: u32) -> f32 {
  return keys[(head * params.cols + j) * params.depth + d];
}
fn finish(sum: f32, head: u32, i: u32, j: u32) -> f32 {
  return select(sum * params.scale, -3.4e38, j > i);
}
