// y = log(sum of e^x along the axes) = top + log(total), top being the maximum; -Inf of nothing

#include "softmax/exponentials.wgsl"

fn finish(sum: Exponentials) -> T_y {
  let y = sum.top + safe_log(sum.total);
  let special = select(-wk_inf(), wk_inf(), is_inf(sum.top));
  return T_y(select(select(special, wk_nan(), has_nan(sum)), y, is_ordinary(sum)));
}
