// unsorted_segment_sum.wgsl with an invocation for up to sixteen neighbouring columns of a segment,
// so that it looks up less; `inner` is a multiple of 4

const GROUP = 64u;
const BLOCK = 128u;

struct Params {
  segments: u32,
  inner: u32,
  first: u32,
  last: u32,
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> starts: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<T_y>>;
@group(0) @binding(3) var<uniform> params: Params;

struct Sums {
  a: vec4<T_wide>,
  b: vec4<T_wide>,
  c: vec4<T_wide>,
  d: vec4<T_wide>,
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  let width = params.inner / 4u;
  let shares = (width + 3u) / 4u; // of a segment's columns
  let segment = i / shares;
  if (segment >= params.segments) {
    return;
  }
  let four = (i - segment * shares) * 4u;
  let at = min(vec4<u32>(0u, 1u, 2u, 3u) + four, vec4<u32>(width - 1u)) * 4u; // columns, within x
  let begin = max(u32(starts[segment]), params.first);
  let end = min(u32(starts[segment + 1u]), params.last);
  var total = Sums();
  for (var block = begin; block < end; block += BLOCK) {
    var part = Sums();
    for (var p = block; p < min(block + BLOCK, end); p++) {
      let from_x = pairs[p].y * params.inner;
      part.a += vec4<T_wide>(load4_x(from_x + at.x));
      part.b += vec4<T_wide>(load4_x(from_x + at.y)); // beyond the columns it is not stored
      part.c += vec4<T_wide>(load4_x(from_x + at.z));
      part.d += vec4<T_wide>(load4_x(from_x + at.w));
    }
    total = Sums(total.a + part.a, total.b + part.b, total.c + part.c, total.d + part.d);
  }
  let to = segment * width + four;
  store_sum(to, total.a, four < width);
  store_sum(to + 1u, total.b, four + 1u < width);
  store_sum(to + 2u, total.c, four + 2u < width);
  store_sum(to + 3u, total.d, four + 3u < width);
}

fn store_sum(to: u32, total: vec4<T_wide>, is_column: bool) {
  if (is_column && params.first > 0u) {
    y[to] = vec4<T_y>(vec4<T_wide>(y[to]) + total);
  } else if (is_column) {
    y[to] = vec4<T_y>(total);
  }
}
