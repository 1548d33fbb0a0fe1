// y = a + b + ..., the first `count` of six
//
// The others are bound to any array of that size.

const GROUP = 64u;

override count = 6u;

struct Params {
  y_size: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  var sum = load_a(i);
  if (count > 1u) {
    sum += load_b(i);
  }
  if (count > 2u) {
    sum += load_c(i);
  }
  if (count > 3u) {
    sum += load_d(i);
  }
  if (count > 4u) {
    sum += load_e(i);
  }
  if (count > 5u) {
    sum += load_f(i);
  }
  store_y(i, sum);
}
