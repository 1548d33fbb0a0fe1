// y[n, i, j, c] = where the largest element of the window stands in the image, row-major, or -1
// where the window sees none; the first of equals, and the first NaN before all numbers
//
// A dispatch looks at the elements from `begin` to `end` of each window; all but the first go on
// from y.
#include "include/window.wgsl"
#include "include/safe_math.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

fn is_larger(value: f32, present: f32) -> bool {
  if (is_nan(present)) {
    return false;
  }
  return is_nan(value) || value > present;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let at = place_of(i);
  let seen = window_at(at);
  var position = -1;
  if (any(params.begin > vec2<u32>(0u))) {
    position = y[i];
  }
  var largest = 0.0;
  if (position >= 0) {
    let found = u32(position);
    largest = f32(x[index_of(at, found / params.image.y, found % params.image.y)]);
  }
  for (var row = seen.begin.x; row < seen.end.x; row++) {
    for (var col = seen.begin.y; col < seen.end.y; col++) {
      let value = f32(x[index_of(at, row, col)]);
      if (position < 0 || is_larger(value, largest)) {
        largest = value;
        position = i32(row * params.image.y + col);
      }
    }
  }
  y[i] = position;
}
