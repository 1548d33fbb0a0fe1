// pairs[i] = (1 if the i-th slice is the first of its kind, else 0; i), filled up to width: sorted,
// the first of each kind come in front, in order

const GROUP = 64u;

struct Params {
  length: u32,
  width: u32,
}

@group(0) @binding(0) var<storage, read> firsts: array<i32>;
@group(0) @binding(1) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.width) {
    return;
  }
  var is_first = false;
  if (i < params.length) {
    is_first = u32(firsts[i]) == i;
  }
  pairs[i] = vec2<u32>(u32(is_first), i);
}
