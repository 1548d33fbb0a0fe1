// y[n, i, j, c] = sum over the windows that cover i, j of dy / (elements of x in that window)
//
// A dispatch looks at the places from `begin` to `end`; all but the first go on from y.
#include "include/covering.wgsl"

@group(0) @binding(0) var<storage, read> dy: array<T_dy>;
@group(0) @binding(1) var<storage, read_write> y: array<T_y>;
@group(0) @binding(2) var<uniform> params: Params;

alias Value = f32;
alias Stored = T_y;

// Elements of the image under the window along each axis.
fn seen_from(place: vec2<u32>) -> vec2<u32> {
  let corner = place * params.step;
  let begin = max(corner, params.before) - params.before;
  return min(corner + params.window - params.before, params.image) - begin;
}

fn spread(i: u32) {
  if (i >= params.units) {
    return;
  }
  let covering = covering_at(i);
  var sum = Value();
  if (any(params.begin > vec2<u32>(0u))) {
    sum = Value(y[i]);
  }
  for (var row = covering.begin.x; row < covering.end.x; row++) {
    for (var col = covering.begin.y; col < covering.end.y; col++) {
      let seen = seen_from(vec2<u32>(row, col));
      sum += Value(dy[index_in_dy(covering, row, col)]) / f32(seen.x * seen.y);
    }
  }
  y[i] = Stored(sum);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  spread(id.x + id.y * groups.x * GROUP);
}
