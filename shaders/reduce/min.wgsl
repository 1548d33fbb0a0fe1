// y = min of x along the axes; NaN wins; of no elements Inf, 0 or true

#include "include/span.wgsl"

fn finish(span: Span, n: u32) -> T_y {
  if (n == 0u) {
    let is_bool = T(2.0) == T(1.0);
    return select(T_y(wk_inf()), T_y(is_bool), order_is_whole());
  }
  if (has_nan(span)) {
    return T_y(wk_nan());
  }
  return element_in_order(span.least);
}
