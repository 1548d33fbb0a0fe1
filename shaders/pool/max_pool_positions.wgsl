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

const UNIT = 1u;
alias Value = f32;
alias Position = i32;

// What the dispatches before found at `position`
fn largest_so_far(at: PlaceInY, position: Position) -> Value {
  if (position < 0) {
    return 0.0;
  }
  let found = u32(position);
  return f32(x[index_of(at, found / params.image.y, found % params.image.y)]);
}

fn is_larger(value: f32, present: f32) -> bool {
  if (is_nan(present)) {
    return false;
  }
  return is_nan(value) || value > present;
}

fn find(i: u32) {
  if (i >= params.units) {
    return;
  }
  let at = place_of(i);
  let seen = window_at(at);
  var position = Position(-1);
  var largest = Value();
  if (any(params.begin > vec2<u32>(0u))) {
    position = y[i];
    largest = largest_so_far(at, position);
  }
  for (var row = seen.begin.x; row < seen.end.x; row++) {
    for (var col = seen.begin.y; col < seen.end.y; col++) {
      let value = Value(x[index_of(at, row, col)]);
      let is_new = (position < Position(0)) | is_larger(value, largest);
      largest = select(largest, value, is_new);
      position = select(position, Position(i32(row * params.image.y + col)), is_new);
    }
  }
  y[i] = position;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  find(id.x + id.y * groups.x * GROUP);
}
