// cumsum.wgsl for int32, which wraps, and for bool, counted
#include "include/scan.wgsl"

alias Total = i32;

fn init() -> Total {
  return 0;
}

fn combine(a: Total, b: Total) -> Total {
  return a + b;
}

fn lift(i: u32) -> Total {
  return i32(load_x(i));
}

fn finish(total: Total) -> T_y {
  return total;
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  scan(group.x + group.y * groups.x, lane);
}
