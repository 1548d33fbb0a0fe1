// firsts[i] = index of the first slice of x that equals the i-th
//
// Slices of equal hash are neighbours in the sorted pairs, by index; the first of them that is
// equal element by element is the one, at the latest the slice itself.

#include "include/ordering.wgsl"

const GROUP = 64u;

struct Params {
  length: u32,
  inner: u32,
  slice_size: u32,
  firsts_size: u32,
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> firsts: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

fn is_equal(a: u32, b: u32) -> bool {
  for (var e = 0u; e < params.slice_size; e++) {
    let row = e / params.inner * params.length;
    let column = e % params.inner;
    let one = order_of(load_x((row + a) * params.inner + column));
    if (one != order_of(load_x((row + b) * params.inner + column))) {
      return false;
    }
  }
  return true;
}

// The first pair with this hash
fn run_begin(hash: u32, known: u32) -> u32 {
  var low = 0u;
  var high = known;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (pairs[middle].x > hash) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let place = id.x + id.y * groups.x * GROUP;
  if (place >= params.firsts_size) { // the pairs that fill up come later
    return;
  }
  let own = pairs[place];
  var other = run_begin(own.x, place);
  while (other < place && !is_equal(own.y, pairs[other].y)) {
    other++;
  }
  firsts[own.y] = i32(pairs[other].y);
}
