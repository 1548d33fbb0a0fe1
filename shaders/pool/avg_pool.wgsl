// y[n, i, j, c] = mean over p, q of x[n, i * step + p - before, .. j, q .., c] inside x; NaN where
// the window sees none of x
//
// A dispatch sums the elements from `begin` to `end` of each window, so that a large one can be
// shared among several; all but the first go on from y, and the last divides.
#include "include/window.wgsl"
#include "include/safe_math.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let at = place_of(i);
  let seen = window_at(at);
  var sum = 0.0;
  if (any(params.begin > vec2<u32>(0u))) {
    sum = f32(y[i]);
  }
  for (var row = seen.begin.x; row < seen.end.x; row++) {
    var line = 0.0;
    for (var col = seen.begin.y; col < seen.end.y; col++) {
      line += f32(x[index_of(at, row, col)]);
    }
    sum += line;
  }
  if (all(params.end == params.window)) {
    let whole = part_of_window(at.place, vec2<u32>(0u), params.window);
    let count = whole.end - whole.begin;
    sum = safe_div(sum, f32(count.x * count.y));
  }
  y[i] = T_y(sum);
}
