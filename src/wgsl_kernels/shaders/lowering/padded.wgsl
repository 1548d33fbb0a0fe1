// y = the words of x, then zeros; of the last word of x only the bits of `mask`

const GROUP = 64u;

struct Params {
  mask: u32,
  x_size: u32,
  y_size: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP; // grids past 65,535 groups fold into two dimensions
  if (i >= params.y_size) {
    return;
  }
  var word = 0u;
  if (i < params.x_size) {
    word = x[i];
  }
  if (i + 1u == params.x_size) {
    word &= params.mask;
  }
  y[i] = word;
}
