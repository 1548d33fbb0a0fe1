// The part of a product (product.wgsl) that stores where columns and results lie in fours. The
// kernel that includes this gives fn store_four(at: Block, row: u32, col: u32, values: vec4<Sum>).
#include "include/product_strip.wgsl"

fn store4(at: Block, row: u32, col: u32, values: vec4<Sum>) {
  if (row < params.rows && col < params.cols) {
    store_four(at, row, col, values);
  }
}
