// batch_mat_mul.wgsl for int32: products and sums wrap
#include "matrix/batch_mat_mul.wgsl"

alias Sum = i32;

fn multiply_add(a: Sum, b: vec4<Sum>, c: vec4<Sum>) -> vec4<Sum> {
  return a * b + c;
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  product_in_registers(id.x + id.y * groups.x, lane);
}
