// y = log(sum of e^x along the axes) = top + log(total), top being the maximum; -Inf of nothing

#include "softmax/exponentials.wgsl"

fn finish(sum: Exponentials) -> T_y {
  let y = sum.top + safe_log(sum.total);
  return T_y(select(safe_log(sum.total), y, is_ordinary(sum)));
}
