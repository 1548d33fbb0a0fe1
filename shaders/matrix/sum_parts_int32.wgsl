// sum_parts.wgsl for int32
#include "matrix/sum_parts.wgsl"

alias Sum = i32;

@compute @workgroup_size(SUM_GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  sum_parts(id.x + id.y * groups.x * SUM_GROUP);
}
