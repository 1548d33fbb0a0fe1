// y[r * row + start + k] = x[r * block + k]        x: [rows, block]   y: [rows, row]

const GROUP = 64u;

struct Params {
  x_size: u32,
  block: u32,
  row: u32,
  start: u32,
}

@group(0) @binding(0) var<storage, read_write> y: array<T>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.x_size) {
    y[i / params.block * params.row + params.start + i % params.block] = load_x(i);
  }
}
