// indices[row, j] = index of the j-th pair in row; values[row, j] = x[row, that index]

const GROUP = 64u;

struct Params {
  values_size: u32,
  length: u32, // of a row of x
  width: u32, // of a row of pairs
  k: u32,
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> values: array<T>;
@group(0) @binding(2) var<storage, read_write> indices: array<i32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.values_size) {
    return;
  }
  let row = i / params.k;
  let index = pairs[row * params.width + i % params.k].y; // below length, since k is at most that
  values[i] = load_x(row * params.length + index);
  indices[i] = i32(index);
}
