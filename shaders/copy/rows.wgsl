// y = x, row-major, whatever the rows
#include "include/copy_rows.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<T_x>;

fn copy_four(to: u32, from_x: u32, step: u32, count: u32) {
  for (var i = 0u; i < min(count, 4u); i++) {
    y[to + i] = x[from_x + i * step];
  }
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  copy_rows(id.x + id.y * groups.x * GROUP);
}
