// y = whether x is not 0; NaN is not
#include "include/safe_math.wgsl"

fn op(x: T) -> bool {
  return !is_zero(f32(x));
}
