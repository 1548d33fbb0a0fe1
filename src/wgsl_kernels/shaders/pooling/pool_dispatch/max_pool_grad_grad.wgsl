// y[n, i, j, c] = ddx where the largest element of the window stands, 0 where the window sees none;
// positions are those of max_pool_positions.wesl

const GROUP = 64u;

struct Params {
  y_size: u32,
  area: u32, // of ddx's image
  places_area: u32,
  depth: u32, // channels
}

@group(0) @binding(0) var<storage, read> ddx: array<T_ddx>;
@group(0) @binding(1) var<storage, read> positions: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.y_size) {
    let image = i / (params.places_area * params.depth);
    let position = positions[i];
    let at = (image * params.area + u32(max(position, 0))) * params.depth + i % params.depth;
    y[i] = select(T_y(), ddx[at], position >= 0);
  }
}
