// y = key with its counter, the 64 bits of words 2 and 3, larger by blocks

struct Params {
  y_size: u32,
  blocks: u32,
}

@group(0) @binding(0) var<storage, read> key: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  if (i >= params.y_size) { // 4
    return;
  }
  let low = bitcast<u32>(key[2]);
  let carry = select(0, 1, low + params.blocks < low);
  var word = key[i];
  if (i == 2u) {
    word = bitcast<i32>(low + params.blocks);
  } else if (i == 3u) {
    word += carry;
  }
  y[i] = word;
}
