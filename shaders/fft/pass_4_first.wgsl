// The first pass, by radix 4, of rows whose length is a multiple of 8: an invocation computes what
// two neighbours begin, which lies together in y
#include "include/pairs.wgsl"
#include "include/pairs_first.wgsl"

fn turn_pair(row: u32, place: u32) {
  let found = transform_fours(Fours(
    pair_of(row, place, 0u),
    pair_of(row, place, 1u),
    pair_of(row, place, 2u),
    pair_of(row, place, 3u),
  ));
  let to = (row * params.length + 4u * place) / 2u;
  y[to] = params.scale * vec4<f32>(found.a.xy, found.b.xy);
  y[to + 1u] = params.scale * vec4<f32>(found.c.xy, found.d.xy);
  y[to + 2u] = params.scale * vec4<f32>(found.a.zw, found.b.zw);
  y[to + 3u] = params.scale * vec4<f32>(found.c.zw, found.d.zw);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  butterflies(group, groups.y, lane);
}
