// y[c] = x[c - before] where that lies in x, else fill

const GROUP = 64u;
const SLOTS = 8u; // axes are padded in front to this many

struct Params {
  y_size: u32,
  x_shape: array<vec4<u32>, 2>,
  before: array<vec4<u32>, 2>,
  fill: T,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let at = coords_y(i);
  var place = Coords_x();
  for (var axis = 0u; axis < x_rank; axis++) {
    let slot = SLOTS - x_rank + axis;
    place[axis] = at[axis] - params.before[slot / 4u][slot % 4u];
    // What lies before x wraps around to a large number.
    if (place[axis] >= params.x_shape[slot / 4u][slot % 4u]) {
      store_y(i, params.fill);
      return;
    }
  }
  store_y(i, load_x_at(place));
}
