// y = x, row-major, in rows of a multiple of 4 elements that lie so in x too
#include "include/copy_rows.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_x>>;

fn copy_four(to: u32, from_x: u32, step: u32, count: u32) {
  y[to / 4u] = x[from_x / 4u];
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  copy_rows(id.x + id.y * groups.x * GROUP);
}
