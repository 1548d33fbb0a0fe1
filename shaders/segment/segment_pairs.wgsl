// pairs[i] = (a word that falls as the i-th segment id rises, i), filled up to width with pairs
// that come last; negative ids come after all others

const GROUP = 64u;

struct Params {
  length: u32, // of segment_ids
  width: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.width) {
    return;
  }
  var word = 0u;
  if (i < params.length) {
    word = ~bitcast<u32>(load_segment_ids(i));
  }
  pairs[i] = vec2<u32>(word, i);
}
