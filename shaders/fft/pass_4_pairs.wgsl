// A later pass by radix 4, of rows whose length is a multiple of 8: an invocation computes what two
// neighbouring k have
#include "include/pairs.wgsl"
#include "include/pairs_later.wgsl"

fn turn_pair(row: u32, place: u32) {
  let found = transform_fours(Fours(
    pair_of(row, place, 0u),
    pair_of(row, place, 1u),
    pair_of(row, place, 2u),
    pair_of(row, place, 3u),
  ));
  store_pair(row, place, 4u, 0u, found.a);
  store_pair(row, place, 4u, 1u, found.b);
  store_pair(row, place, 4u, 2u, found.c);
  store_pair(row, place, 4u, 3u, found.d);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  butterflies(group, groups.y, lane);
}
