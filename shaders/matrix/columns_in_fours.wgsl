// The second operand and the result of a product of matrices (matrices.wgsl) that lie in fours.
#include "matrix/matrices.wgsl"
#include "include/product_fours.wgsl"

@group(0) @binding(1) var<storage, read> b: array<vec4<T_b>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(b[index]);
}
