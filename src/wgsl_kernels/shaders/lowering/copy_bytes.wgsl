// y[r * row + start + k] = x[r * block + k]        x: [rows, block]   y: [rows, row], both of bytes
//
// One invocation writes the bytes of one word that come from x, beginning at the word of the first;
// the others stay as earlier dispatches left them.

const GROUP = 64u;

struct Params {
  size: u32, // of x
  block: u32,
  row: u32,
  start: u32,
}

@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let number = params.start / 4u + id.x + id.y * groups.x * GROUP;
  var word = 0u;
  var mask = 0u;
  for (var lane = 0u; lane < 4u; lane++) {
    let at = 4u * number + lane;
    if (at >= params.start) {
      let line = (at - params.start) / params.row;
      let k = (at - params.start) - line * params.row;
      let from_x = line * params.block + k;
      if (k < params.block && from_x < params.size) {
        word |= (u32(load_x(from_x)) & 0xffu) << (8u * lane);
        mask |= 0xffu << (8u * lane);
      }
    }
  }
  if (mask != 0u) {
    y[number] = (y[number] & ~mask) | word;
  }
}
