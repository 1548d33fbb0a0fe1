// y = x, row-major, in rows of a multiple of 4 elements
#include "include/copy_rows.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_x>>;

fn copy_four(to: u32, from_x: u32, step: u32, count: u32) {
  let a = x[from_x];
  let b = x[from_x + step];
  let c = x[from_x + 2u * step];
  let d = x[from_x + 3u * step];
  y[to / 4u] = vec4<T_x>(a, b, c, d);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  copy_rows(id.x + id.y * groups.x * GROUP);
}
