// y = x - log(sum of e^x) along the axis: (x - top) - log(total), top being the row's maximum

#include "softmax/rows.wgsl"
#include "include/safe_math.wgsl"

fn normalized(shifted: f32, total: f32) -> f32 {
  return shifted - safe_log(total);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  write_rows(group.x + group.y * groups.x, local);
}
