// pairs[i] = (segments - the i-th segment id, i), filled up to width with pairs that come last; ids
// of no segment come after all others, with the word 0

const GROUP = 64u;

struct Params {
  length: u32, // of segment_ids
  width: u32,
  segments: u32,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.width) {
    return;
  }
  var segment = params.segments;
  if (i < params.length) {
    segment = min(u32(load_segment_ids(i)), segment); // a negative id is a large number
  }
  pairs[i] = vec2<u32>(params.segments - segment, i);
}
