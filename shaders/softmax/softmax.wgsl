// y = e^x / sum of e^x along the axis dim: e^(x - top) / total, top being the row's maximum

#include "softmax/rows.wgsl"
#include "include/safe_math.wgsl"

fn normalized(shifted: f32, total: f32) -> f32 {
  return safe_div(safe_exp(shifted), total);
}
