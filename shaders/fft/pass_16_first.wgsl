// The first pass, by radix 16, of rows whose length is a multiple of 32: as fft/pass_4_first.wgsl
#include "include/pairs.wgsl"
#include "include/pairs_first.wgsl"
#include "include/pairs_sixteen.wgsl"

// What both neighbours have for q = 4 r to 4 r + 3
fn store_quarter(to: u32, r: u32, p0: vec4<f32>, p1: vec4<f32>, p2: vec4<f32>, p3: vec4<f32>) {
  y[to + 2u * r] = params.scale * vec4<f32>(p0.xy, p1.xy);
  y[to + 2u * r + 1u] = params.scale * vec4<f32>(p2.xy, p3.xy);
  y[to + 2u * r + 8u] = params.scale * vec4<f32>(p0.zw, p1.zw);
  y[to + 2u * r + 9u] = params.scale * vec4<f32>(p2.zw, p3.zw);
}

fn turn_pair(row: u32, place: u32) {
  let found = transform_sixteens(row, place);
  let to = (row * params.length + 16u * place) / 2u;
  store_quarter(to, 0u, found.p0.a, found.p1.a, found.p2.a, found.p3.a);
  store_quarter(to, 1u, found.p0.b, found.p1.b, found.p2.b, found.p3.b);
  store_quarter(to, 2u, found.p0.c, found.p1.c, found.p2.c, found.p3.c);
  store_quarter(to, 3u, found.p0.d, found.p1.d, found.p2.d, found.p3.d);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  butterflies(group, groups.y, lane);
}
