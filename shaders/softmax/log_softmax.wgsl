// y = x - log(sum of e^x) along the axis: (x - top) - log(total), top being the row's maximum

#include "softmax/rows.wgsl"
#include "include/safe_math.wgsl"

fn normalized(shifted: f32, total: f32) -> f32 {
  return shifted - safe_log(total);
}
