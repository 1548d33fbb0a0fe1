// values[o, p, j] = x[o, i, j], i being the slice that is the first of the p-th kind

const GROUP = 64u;

struct Params {
  values_size: u32,
  length: u32, // slices of x
  inner: u32,
  found: u32, // slices of values
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> values: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let at = id.x + id.y * groups.x * GROUP;
  if (at >= params.values_size) {
    return;
  }
  let column = at % params.inner;
  let outer = at / params.inner / params.found;
  let i = pairs[at / params.inner % params.found].y; // below length: a place that was found
  values[at] = load_x((outer * params.length + i) * params.inner + column);
}
