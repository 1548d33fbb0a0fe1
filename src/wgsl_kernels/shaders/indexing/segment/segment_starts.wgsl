// starts[s] = the first of the sorted pairs whose segment is `skipped + s` or a later one; behind the
// last segment the pairs of no segment begin

const GROUP = 64u;

struct Params {
  starts_size: u32,
  width: u32, // of pairs
  segments: u32,
  skipped: u32,
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> starts: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let start = id.x + id.y * groups.x * GROUP;
  if (start >= params.starts_size) {
    return;
  }
  let segment = params.skipped + start;
  var low = 0u;
  var high = params.width;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (params.segments - pairs[middle].x < segment) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  starts[start] = i32(low);
}
