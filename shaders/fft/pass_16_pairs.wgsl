// A later pass by radix 16, of rows whose length is a multiple of 32: as fft/pass_4_pairs.wgsl
#include "include/pairs.wgsl"
#include "include/pairs_later.wgsl"
#include "include/pairs_sixteen.wgsl"

fn store_four(row: u32, place: u32, p: u32, found: Fours) {
  store_pair(row, place, 16u, p, found.a);
  store_pair(row, place, 16u, p + 4u, found.b);
  store_pair(row, place, 16u, p + 8u, found.c);
  store_pair(row, place, 16u, p + 12u, found.d);
}

fn turn_pair(row: u32, place: u32) {
  let found = transform_sixteens(row, place);
  store_four(row, place, 0u, found.p0);
  store_four(row, place, 1u, found.p1);
  store_four(row, place, 2u, found.p2);
  store_four(row, place, 3u, found.p3);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  butterflies(group, groups.y, lane);
}
