// roots[k] = e^(2 pi i * turn * k / length), turn being 1 or -1: what the other shaders here
// multiply by
//
// The circle is folded to an eighth in integers, so nothing is lost where the angle is large, and
// quarters are exact. A root is off by at most 6 * 2^-23: the angle by 4 ULP, safe_cos and safe_sin
// by 3.
#include "include/integer.wgsl"
#include "include/safe_math.wgsl"
#include "include/trigonometry.wgsl"

const GROUP = 64u;
const EIGHTH = 0.785398163f; // of a circle

struct Params {
  length: u32,
  turn: f32,
}

@group(0) @binding(0) var<storage, read_write> roots: array<vec2<f32>>;
@group(0) @binding(1) var<uniform> params: Params;

fn root_at(k: u32) -> vec2<f32> {
  let eighth = params.length; // in units of which the circle has 8 * length
  var at = 8u * k;
  let is_below = at > 4u * eighth;
  at = select(at, 8u * eighth - at, is_below);
  let is_left = at > 2u * eighth;
  at = select(at, 4u * eighth - at, is_left);
  let is_steep = at > eighth;
  at = select(at, 2u * eighth - at, is_steep);
  let angle = EIGHTH * safe_div(f32(at), f32(eighth));
  var root = vec2<f32>(safe_cos(angle), safe_sin(angle));
  root = select(root, root.yx, is_steep);
  return vec2<f32>(select(root.x, -root.x, is_left), select(root.y, -root.y, is_below));
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let k = id.x + id.y * groups.x * GROUP;
  if (k < params.length) {
    let root = root_at(k);
    roots[k] = vec2<f32>(root.x, params.turn * root.y);
  }
}
