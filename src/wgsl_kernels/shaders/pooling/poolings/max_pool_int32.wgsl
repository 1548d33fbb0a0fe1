// max_pool.wgsl for int32; the lowest number where a window sees nothing

fn init() -> i32 {
  return bitcast<i32>(0x80000000u);
}

fn combine(a: i32, b: i32) -> i32 {
  return max(a, b);
}
