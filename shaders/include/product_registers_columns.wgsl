// The part of product_registers.wgsl that reads b where its columns lie in fours. The kernel that
// includes this gives fn load_b4(index: u32) -> vec4<Sum>, as for product_vec4_columns.wgsl.
#include "include/product_registers.wgsl"

fn load_eight(columns: Eight, start: u32) -> Pair {
  return Pair(load_b4((columns.col0 + start) / 4u), load_b4((columns.col4 + start) / 4u));
}
