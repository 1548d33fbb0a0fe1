// y = x + 0 i

const GROUP = 64u;

struct Params {
  y_size: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.y_size) {
    store_y(i, vec2<f32>(f32(load_x(i)), 0.0));
  }
}
