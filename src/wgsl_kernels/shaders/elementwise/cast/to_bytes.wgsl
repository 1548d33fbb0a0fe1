// y = x modulo 256, four elements in each word, the first one in its lowest bits
//
// One invocation writes one word, so that none shares a word with another. Behind the last element
// the word is 0.

const GROUP = 64u;

struct Params {
  y_size: u32,
}

@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = id.x + id.y * groups.x * GROUP;
  let first = 4u * number;
  if (first >= params.y_size) {
    return;
  }
  var word = 0u;
  for (var lane = 0u; lane < min(4u, params.y_size - first); lane++) {
    word |= (u32(load_x(first + lane)) & 0xffu) << (8u * lane);
  }
  y[number] = word;
}
