// What the other shaders here multiply by, turn being 1 or -1: two tables, one after the other.
//
//   roots[s * done + k] = e^(2 pi i * turn * s * k / grown)   done <= s * done < grown, k < done
//   roots[in_order + k] = e^(2 pi i * turn * k / length)      k < length
//
// The first is in the order in which include/pairs_later.wgsl reads it: it has a run for each pass
// by 2^bits, from `done` elements to `grown`; the last may be by less. Either table may be absent.
#include "include/integer.wgsl"
#include "include/safe_math.wgsl"
#include "include/trigonometry.wgsl"
#include "include/roots.wgsl"

const GROUP = 64u;

struct Params {
  roots_size: u32,
  in_order: u32, // roots in the first table; a power of four, or 0
  bits: u32, // 2 or 4
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
  var k = i - params.in_order;
  var order = params.length;
  if (i < params.in_order) {
    let last_bit = firstLeadingBit(max(i, 1u));
    let shift = last_bit - last_bit % params.bits;
    let s = i >> shift;
    k = s * (i - (s << shift));
    order = min(1u << (shift + params.bits), params.in_order);
  }
  let root = root_of_one(k, order);
  roots[i] = vec2<f32>(root.x, params.turn * root.y);
}
