// Passes of a transform along rows by radix 4 or 16, as in include/butterfly.wgsl, for two
// neighbours at a time, and without a division. The kernel gives
//
//   fn turn_pair(row: u32, place: u32)   for places 0, 2, … below `apart`
//
// A workgroup's lanes stand for the pairs of one row or, where those are few, of several: there are
// 2^width lanes for each. It adds as many roundings as the passes there.
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

const GROUP = 64u;

struct Params {
  rows: u32,
  length: u32,
  apart: u32, // length / radix
  shift: u32, // the transforms that are done have 2^shift elements
  width: u32,
  turn: f32, // 1 or -1
  scale: f32,
}

@group(0) @binding(0) var<storage, read_write> y: array<vec4<f32>>; // pairs of complex numbers
@group(0) @binding(1) var<uniform> params: Params;

struct Fours {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

fn butterflies(group: vec3<u32>, grid_rows: u32, lane: u32) {
  let in_group = lane >> params.width;
  let row = ((group.y + group.z * grid_rows) << (firstLeadingBit(GROUP) - params.width)) + in_group;
  let place = 2u * (group.x * GROUP + lane - (in_group << params.width));
  if (row < params.rows && place < params.apart) {
    turn_pair(row, place);
  }
}

fn times(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(complex_mul(a.xy, b.xy), complex_mul(a.zw, b.zw));
}

fn transform_fours(x: Fours) -> Fours {
  let even = x.a + x.c;
  let odd = x.b + x.d;
  let far = x.a - x.c;
  let apart = x.b - x.d;
  let quarter = params.turn * vec4<f32>(-apart.y, apart.x, -apart.w, apart.z); // times i or -i
  return Fours(even + odd, far + quarter, even - odd, far - quarter);
}
