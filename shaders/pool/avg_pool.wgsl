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

const UNIT = 1u;
alias Value = f32;
alias Stored = T_y;

fn divided(sum: Value, count: f32) -> Value {
  return safe_div(sum, count);
}

fn pool(i: u32) {
  if (i >= params.units) {
    return;
  }
  let at = place_of(i);
  let seen = window_at(at);
  var sum = Value();
  if (any(params.begin > vec2<u32>(0u))) {
    sum = Value(y[i]);
  }
  for (var row = seen.begin.x; row < seen.end.x; row++) {
    var line = Value();
    for (var col = seen.begin.y; col < seen.end.y; col++) {
      line += Value(x[index_of(at, row, col)]);
    }
    sum += line;
  }
  if (all(params.end == params.window)) {
    let whole = part_of_window(at.place, vec2<u32>(0u), params.window);
    let count = whole.end - whole.begin;
    sum = divided(sum, f32(count.x * count.y));
  }
  y[i] = Stored(sum);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
