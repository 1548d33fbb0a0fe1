// f32 times u32.
// finds: wrong-type
// cpu: x * 3
// shapes: (70,)

fn op(x: T) -> T {
  let n = 3u;
  return x * n;
}
