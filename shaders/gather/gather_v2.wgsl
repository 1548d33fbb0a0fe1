// y[b, o, r, k] = x[b, o, indices[b, r], k]
// x: [batch, outer, length, inner]   indices: [batch, rows]   y: [batch, outer, rows, inner]

const GROUP = 64u;

struct Params {
  y_size: u32,
  outer: u32,
  length: u32,
  rows: u32,
  inner: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let block = i / (params.rows * params.inner); // b and o together
  let row = i / params.inner % params.rows;
  let at = load_indices(block / params.outer * params.rows + row);
  if (at < 0 || u32(at) >= params.length) {
    report_index(at);
    store_y(i, T_y());
    return;
  }
  store_y(i, load_x((block * params.length + u32(at)) * params.inner + i % params.inner));
}
