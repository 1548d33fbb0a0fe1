// y[n, i, j, c] = max over p, q of x[n, i * step + p - before, .. j, q .., c] inside x; -Inf where
// the window sees none of x. NaN propagates.
//
// A dispatch looks at the elements from `begin` to `end` of each window, so that a large one can be
// shared among several; all but the first go on from y.
#include "include/window.wgsl"
#include "include/safe_math.wgsl"

@group(0) @binding(0) var<storage, read> x: array<T_x>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

const UNIT = 1u;
alias Value = f32;
alias Stored = T_y;

fn lowest() -> Value {
  return Value(-wk_inf());
}

fn larger(a: Value, b: Value) -> Value {
  return safe_max(a, b);
}

fn pool(i: u32) {
  if (i >= params.units) {
    return;
  }
  let at = place_of(i);
  let seen = window_at(at);
  var value = lowest();
  if (any(params.begin > vec2<u32>(0u))) {
    value = Value(y[i]);
  }
  for (var row = seen.begin.x; row < seen.end.x; row++) {
    for (var col = seen.begin.y; col < seen.end.y; col++) {
      value = larger(value, Value(x[index_of(at, row, col)]));
    }
  }
  y[i] = Stored(value);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  pool(id.x + id.y * groups.x * GROUP);
}
