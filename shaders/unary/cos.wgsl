// y = cos(x), x in radians
#include "include/integer.wgsl"
#include "include/safe_math.wgsl"
#include "include/trigonometry.wgsl"

fn op(x: T) -> T_y {
  return T_y(safe_cos(f32(x)));
}
