// What the other shaders here multiply by, turn being 1 or -1: two tables, one after the other.
//
//   roots[s * done + k] = e^(2 pi i * turn * s * k / (4 * done))   1 <= s < 4, 0 <= k < done
//   roots[fours + k] = e^(2 pi i * turn * k / length)              0 <= k < length
//
// The first, with a run for each done = 1, 4, 16, … below `fours`, is in the order in which
// fft/pass_4_pairs.wgsl reads it. Either may be absent.
#include "include/integer.wgsl"
#include "include/safe_math.wgsl"
#include "include/trigonometry.wgsl"
#include "include/roots.wgsl"

const GROUP = 64u;

struct Params {
  roots_size: u32,
  fours: u32, // of the first table; a power of four, or 0
  length: u32,
  turn: f32,
}

@group(0) @binding(0) var<storage, read_write> roots: array<vec2<f32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.roots_size) {
    return;
  }
  var k = i - params.fours;
  var order = params.length;
  if (i < params.fours) {
    let shift = firstLeadingBit(max(i, 1u)) & ~1u;
    let s = i >> shift;
    k = s * (i - (s << shift));
    order = 4u << shift;
  }
  let root = root_of_one(k, order);
  roots[i] = vec2<f32>(root.x, params.turn * root.y);
}
