// y[n, i, j, c * multiplier + m] = sum over p, q of x[n, i * step + p * dilation - before,
//                                     .. j, q .., c] * filter[p, q, c, m], with zeros around x
#include "conv/depthwise.wgsl"

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  convolve(id.x + id.y * groups.x * GROUP);
}
