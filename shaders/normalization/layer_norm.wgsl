// y = (x - mean) / sqrt(variance + epsilon) * scale + offset, along the last axes

#include "include/deviations.wgsl"

struct Attrs { epsilon: f32 }

struct Row {
  mean: f32,
  slope: f32,
}

fn settle(all: Deviations, n: u32) -> Row {
  let row = centred(all);
  return Row(row.origin, safe_rsqrt(row.squares / f32(n) + attrs.epsilon));
}

fn apply(x: T, scale: T_scale, offset: T_offset, row: Row) -> T_y {
  let normal = (f32(x) - row.mean) * row.slope;
  return T_y(fma(normal, select(1.0, f32(scale), has_scale), f32(offset)));
}
