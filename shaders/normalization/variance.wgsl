// y = sum of (x - mean)^2 along the axes / (n - correction); NaN of nothing

#include "include/deviations.wgsl"

struct Attrs { correction: f32 }

fn finish(all: Deviations, n: u32) -> T_y {
  let freedom = max(f32(n) - attrs.correction, 0.0);
  let squares = select(centred(all).squares, wk_nan(), n == 0u);
  return T_y(safe_div(squares, freedom));
}
