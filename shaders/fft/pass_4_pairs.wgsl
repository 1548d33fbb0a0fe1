// A later pass by radix 4 of rows whose length is a multiple of 8: an invocation computes what two
// neighbouring k have, which lies together in x, in the roots and in y.
#include "include/pairs_of_four.wgsl"

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>; // pairs
@group(0) @binding(3) var<storage, read> roots: array<vec4<f32>>; // likewise; the first table

fn times(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(complex_mul(a.xy, b.xy), complex_mul(a.zw, b.zw));
}

fn turn_pair(row: u32, place: u32) {
  let done = 1u << params.shift;
  let block = place >> params.shift;
  let k = place - (block << params.shift);
  let start = row * params.length;
  let from_x = (start + place) / 2u;
  let apart = params.apart / 2u;
  let root = k / 2u;
  let half = done / 2u;
  let found = transform_fours(Fours(
    x[from_x],
    times(x[from_x + apart], roots[root + half]),
    times(x[from_x + 2u * apart], roots[root + 2u * half]),
    times(x[from_x + 3u * apart], roots[root + 3u * half]),
  ));
  let to = (start + 4u * block * done + k) / 2u;
  y[to] = params.scale * found.a;
  y[to + half] = params.scale * found.b;
  y[to + 2u * half] = params.scale * found.c;
  y[to + 3u * half] = params.scale * found.d;
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  butterflies(group, groups.y, lane);
}
