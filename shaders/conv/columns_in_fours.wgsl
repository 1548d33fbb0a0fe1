// The filter and the result of a convolution (convolution.wgsl) whose out channels lie in fours.
#include "conv/convolution.wgsl"
#include "include/product_fours.wgsl"

@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;

fn load_b4(index: u32) -> vec4<Sum> {
  return vec4<Sum>(filter_[index]);
}
