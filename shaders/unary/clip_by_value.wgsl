// y = min(max(x, clip_value_min), clip_value_max)
#include "include/safe_math.wgsl"

struct Attrs {
  clip_value_min: f32,
  clip_value_max: f32,
  whole_min: i32,
  whole_max: i32,
}

fn op_f32(x: T) -> T {
  return T(safe_clamp(f32(x), attrs.clip_value_min, attrs.clip_value_max));
}

fn op_i32(x: i32) -> i32 {
  return min(max(x, attrs.whole_min), attrs.whole_max);
}
