// max_pool.wgsl for windows that are small and see some of x: an invocation takes four channels of
// two neighbouring places. What would be outside of x is read from beside it, from an element that
// the window sees too, so that all loops are alike and none has a branch.
//
// Compares signed words in the order of the elements: by its bits a NaN is above Inf where its sign
// is clear and below -Inf where it is set; words that wrap round put those after Inf as well.
#include "include/window.wgsl"

override HIGH: u32; // the window
override WIDE: u32;
override ACROSS: u32; // the workgroup: fours of channels, and pairs of places
override DOWN: u32;

const NANS_OF_A_SIGN = vec4<i32>(0x7fffff);

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<T_y>>;
@group(0) @binding(2) var<uniform> params: Params;

fn negative_reversed(bits: vec4<i32>) -> vec4<i32> {
  return bits ^ ((bits >> vec4<u32>(31u)) & vec4<i32>(0x7fffffff));
}

// `start` is the channels' index in the image.
fn largest(start: u32, place: vec2<u32>) -> vec4<T_y> {
  let corner = place * params.step; // counted from the padding's first element
  let last = params.image - 1u;
  var most = vec4<i32>(bitcast<i32>(0x80000000u));
  for (var down = 0u; down < HIGH; down++) {
    let row = min(max(corner.x + down, params.before.x) - params.before.x, last.x);
    for (var right = 0u; right < WIDE; right++) {
      let col = min(max(corner.y + right, params.before.y) - params.before.y, last.y);
      let value = x[(start + row * params.x_strides.y + col * params.x_strides.z) / 4u];
      let word = negative_reversed(bitcast<vec4<i32>>(vec4<f32>(value))) - NANS_OF_A_SIGN;
      most = max(most, word);
    }
  }
  return vec4<T_y>(bitcast<vec4<f32>>(negative_reversed(most + NANS_OF_A_SIGN)));
}

@compute @workgroup_size(ACROSS, DOWN)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let col = id.y * 2u;
  if (id.x >= params.depth || col >= params.places.y) {
    return;
  }
  let image = id.z / params.places.x;
  let row = id.z - image * params.places.x;
  let start = params.x_offset + image * params.x_strides.x + id.x * 4u;
  let i = (id.z * params.places.y + col) * params.depth + id.x;
  y[i] = largest(start, vec2<u32>(row, col));
  if (col + 1u < params.places.y) {
    y[i + params.depth] = largest(start, vec2<u32>(row, col + 1u));
  }
}
