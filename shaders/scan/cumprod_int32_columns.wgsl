// cumprod_int32.wgsl by the method of include/scan_columns.wgsl
#include "scan/cumprod_int32.wgsl"
#include "include/scan_columns.wgsl"

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  scan(id.x + id.y * groups.x * GROUP);
}
