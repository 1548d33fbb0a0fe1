// One pass of a transform along rows of `length` by radix 4 or 16: as fft/pass.wgsl, but an
// invocation computes all `radix` elements of y that have the same elements of x:
//
//   y[(block * radix + q) * done + k] = scale * sum over s of (x_s * root^(s * k)) * w^(s * q)
//
// with x_s as there and w^radix = 1. The kernel gives
//
//   const RADIX
//   fn turn_all(from_x: From, to: To)
//
// Neighbours have neighbouring k, and so read neighbours. Radix 4 adds 12 roundings of the sum of
// |x|: 9 of a product with a root, 2 additions, the scale; radix 16 adds 23, fewer than two passes.
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

const GROUP = 64u;

struct Params {
  count: u32, // of invocations: y's elements / RADIX
  length: u32,
  done: u32,
  turn: f32, // 1 or -1
  scale: f32,
}

@group(0) @binding(0) var<storage, read> roots: array<vec2<f32>>; // of the length
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(2) var<uniform> params: Params;

struct From {
  first: u32, // x_0; the others are `apart` apart
  apart: u32,
  power: u32, // of the root of the length that x_1 takes
}

struct To {
  first: u32, // the element with q = 0; the others are `done` apart
}

struct Four {
  a: vec2<f32>,
  b: vec2<f32>,
  c: vec2<f32>,
  d: vec2<f32>,
}

fn butterfly(i: u32) {
  if (i >= params.count) {
    return;
  }
  let apart = params.length / RADIX;
  let row = i / apart;
  let place = i - row * apart; // block * done + k
  let block = place / params.done;
  let k = place - block * params.done;
  let start = row * params.length;
  turn_all(
    From(start + place, apart, k * (apart / params.done)),
    To(start + block * RADIX * params.done + k),
  );
}

fn turned(from_x: From, s: u32) -> vec2<f32> {
  let value = load_x(from_x.first + s * from_x.apart);
  if (params.done == 1u || s == 0u) {
    return value;
  }
  return complex_mul(value, roots[s * from_x.power]);
}

fn store_turned(to: To, q: u32, value: vec2<f32>) {
  y[to.first + q * params.done] = params.scale * value;
}

fn transform_four(x: Four) -> Four {
  let even = x.a + x.c;
  let odd = x.b + x.d;
  let far = x.a - x.c;
  let apart = x.b - x.d;
  let quarter = params.turn * vec2<f32>(-apart.y, apart.x); // times i or -i
  return Four(even + odd, far + quarter, even - odd, far - quarter);
}
