// y[k] = sum of x up to k, in f32 whatever float type x has
#include "include/scan.wgsl"

alias Total = f32;

fn init() -> Total {
  return 0.0;
}

fn combine(a: Total, b: Total) -> Total {
  return a + b;
}

fn lift(i: u32) -> Total {
  return f32(load_x(i));
}

fn finish(total: Total) -> T_y {
  return T_y(total);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  scan(group.x + group.y * groups.x, lane);
}
