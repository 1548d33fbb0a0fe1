// The first pass, by radix 4, of rows whose length is a multiple of 8: an invocation computes what
// two neighbours begin, which lies together in y. There is nothing to multiply by.
#include "include/pairs_of_four.wgsl"

fn load_pair(i: u32) -> vec4<f32> {
  return vec4<f32>(load_x(i), load_x(i + 1u));
}

fn turn_pair(row: u32, place: u32) {
  let x = row * params.length + place;
  let found = transform_fours(Fours(
    load_pair(x),
    load_pair(x + params.apart),
    load_pair(x + 2u * params.apart),
    load_pair(x + 3u * params.apart),
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
