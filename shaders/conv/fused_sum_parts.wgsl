// y = activation(sum of the parts + bias), the last step of fused_conv2d.wgsl in several parts
#include "conv/bias_and_activation.wgsl"
#include "include/product_sum.wgsl"

alias Sum = f32;

struct Params {
  parts_count: u32,
  y_size: u32,
  leakyrelu_alpha: f32,
  bias_offset: u32,
  prelu_activation_weights_offset: u32,
  bias_strides: vec4<u32>,
  prelu_activation_weights_strides: vec4<u32>,
  out_shape: vec4<u32>,
}

@group(0) @binding(2) var<storage, read> parts: array<Sum>;
@group(0) @binding(3) var<storage, read_write> y: array<T_y>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(SUM_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  sum_parts(id.x + id.y * groups.x * SUM_GROUP);
}
