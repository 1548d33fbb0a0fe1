// A pass by radix 4
#include "include/butterfly.wgsl"

const RADIX = 4u;

fn turn_all(from_x: From, to: To) {
  let x = Four(turned(from_x, 0u), turned(from_x, 1u), turned(from_x, 2u), turned(from_x, 3u));
  let found = transform_four(x);
  store_turned(to, 0u, found.a);
  store_turned(to, 1u, found.b);
  store_turned(to, 2u, found.c);
  store_turned(to, 3u, found.d);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  butterfly(id.x + id.y * groups.x * GROUP);
}
