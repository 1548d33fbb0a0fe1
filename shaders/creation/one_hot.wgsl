// y[i, k] = on where indices[i] is k, else off        indices: any shape   y: [..., depth]

const GROUP = 64u;

struct Params {
  y_size: u32,
  depth: u32,
  on: T_y,
  off: T_y,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.y_size) {
    // A negative index becomes one past every depth.
    let hit = u32(load_indices(i / params.depth)) == i % params.depth;
    store_y(i, select(params.off, params.on, hit));
  }
}
