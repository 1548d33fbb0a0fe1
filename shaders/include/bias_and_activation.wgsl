// What fused kernels do to each sum before they store it: activation(sum + bias).
//
// bias and prelu_activation_weights are views of y's shape; where one is absent BIAS is NO_BIAS, or the
// activation another, and it is not read. The kernel that includes this gives alias Sum, params with
// leakyrelu_alpha and both offsets and strides, and
//   fn index_of(i: u32, offset: u32, strides: ..) -> u32   where element i of y has its bias or slope
//   fn bias_along_last(i: u32) -> u32                      the same for ALONG_LAST
// or finish and slope_at of its own.
#include "include/activation.wgsl"

const NO_BIAS = 0u;
const ALONG_LAST = 1u; // the same number for all that differ in other axes than the last

override BIAS: u32 = 2u;

@group(0) @binding(0) var<storage, read> bias: array<T_bias>;
@group(0) @binding(1) var<storage, read> prelu_activation_weights:
  array<T_prelu_activation_weights>;

fn finish(sum: Sum, i: u32) -> Sum {
  if (BIAS == NO_BIAS) {
    return activated(sum, i);
  }
  if (BIAS == ALONG_LAST) {
    return activated(sum + Sum(bias[bias_along_last(i)]), i);
  }
  return activated(sum + Sum(bias[index_of(i, params.bias_offset, params.bias_strides)]), i);
}

fn finish4(sums: vec4<Sum>, i: u32) -> vec4<Sum> {
  var values = sums;
  for (var n = 0u; n < 4u; n++) {
    values[n] = finish(sums[n], i + n);
  }
  return values;
}

fn slope_at(i: u32) -> Sum {
  let strides = params.prelu_activation_weights_strides;
  let at = index_of(i, params.prelu_activation_weights_offset, strides);
  return Sum(prelu_activation_weights[at]);
}
