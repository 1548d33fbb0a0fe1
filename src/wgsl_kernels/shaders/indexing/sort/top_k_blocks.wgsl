// pairs[row, block, i] = kept[row, block * part_size + i], in blocks filled up to width with pairs
// that come last; of kept the first k of every `kept_width` pairs are a row's

const GROUP = 64u;

struct Params {
  count: u32, // of pairs
  length: u32, // of a row of kept, those beyond k left out
  parts: u32, // of a row
  part_size: u32,
  width: u32,
  k: u32,
  kept_width: u32,
}

@group(0) @binding(0) var<storage, read> kept: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let place = id.x + id.y * groups.x * GROUP;
  if (place >= params.count) {
    return;
  }
  let row = place / (params.width * params.parts);
  let within = place % params.width;
  let i = place / params.width % params.parts * params.part_size + within;
  var pair = vec2<u32>(0u, 0xffffffffu);
  if (within < params.part_size && i < params.length) {
    let from_block = row * (params.length / params.k) + i / params.k;
    pair = kept[from_block * params.kept_width + i % params.k];
  }
  pairs[place] = pair;
}
