// y = max of x along the axes; NaN wins; of no elements -Inf, 0 or false

#include "include/span.wgsl"

fn finish(span: Span, n: u32) -> T_y {
  if (n == 0u) {
    return select(T_y(-wk_inf()), T_y(0), order_is_whole());
  }
  if (has_nan(span)) {
    return T_y(wk_nan());
  }
  return element_in_order(span.most);
}
