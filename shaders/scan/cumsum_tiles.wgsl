// cumsum.wgsl by the method of include/scan_tiles.wgsl
#include "scan/cumsum.wgsl"
#include "include/scan_tiles.wgsl"

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  scan(group.x + group.y * groups.x, lane);
}
