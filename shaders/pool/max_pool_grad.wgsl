// y[n, i, j, c] = sum over the windows whose largest element stands at i, j of dy; positions are
// those of max_pool_positions.wgsl
//
// A dispatch looks at the places from `begin` to `end`; all but the first go on from y.
#include "include/covering.wgsl"

@group(0) @binding(0) var<storage, read> dy: array<T_dy>;
@group(0) @binding(1) var<storage, read> positions: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

alias Value = f32;
alias Position = i32;
alias Stored = T_y;

fn spread(i: u32) {
  if (i >= params.units) {
    return;
  }
  let covering = covering_at(i);
  let here = Position(i32(i / params.depth % (params.image.x * params.image.y)));
  var sum = Value();
  if (any(params.begin > vec2<u32>(0u))) {
    sum = Value(y[i]);
  }
  for (var row = covering.begin.x; row < covering.end.x; row++) {
    for (var col = covering.begin.y; col < covering.end.y; col++) {
      let place = index_in_dy(covering, row, col);
      sum += select(Value(), Value(dy[place]), positions[place] == here);
    }
  }
  y[i] = Stored(sum);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  spread(id.x + id.y * groups.x * GROUP);
}
