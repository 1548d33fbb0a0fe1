// y[s, j] = sum of x[i, j] over all i whose segment id is s        x: [ids, inner]
//
// The ids come sorted, so that a segment is a run of pairs. `lanes` invocations share an element of
// y: each sums every lanes-th row of the run in blocks of 128, and a tree sums the lanes. So the
// result does not depend on timing. A dispatch takes the pairs from `first` to `last` only, fewer
// than the 65,535 loop turns after which some drivers stop silently; later ones add to y. Of a y above
// the binding limit a dispatch binds the rows of `segments` segments only.

const GROUP = 64u;
const BLOCK = 128u;

struct Params {
  segments: u32,
  inner: u32,
  lanes: u32, // a power of two, at most GROUP
  first: u32,
  last: u32,
}

@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> starts: array<i32>; // of these segments among the pairs
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

var<workgroup> totals: array<T_wide, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let lane = local % params.lanes;
  let o = (group.x + group.y * groups.x) * (GROUP / params.lanes) + local / params.lanes;
  var total = T_wide(0);
  let is_element = o < params.segments * params.inner;
  if (is_element) {
    let column = o % params.inner;
    let segment = o / params.inner;
    let begin = max(u32(starts[segment]), params.first);
    let end = min(u32(starts[segment + 1u]), params.last);
    let stride = BLOCK * params.lanes;
    for (var block = begin + lane; block < end; block += stride) {
      var part = T_wide(0);
      for (var p = block; p < min(block + stride, end); p += params.lanes) {
        part += T_wide(load_x(pairs[p].y * params.inner + column));
      }
      total += part;
    }
  }
  totals[local] = total;
  for (var half = params.lanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      totals[local] += totals[local + half];
    }
  }
  if (lane == 0u && is_element) {
    if (params.first > 0u) {
      y[o] = T_y(T_wide(y[o]) + totals[local]);
    } else {
      y[o] = T_y(totals[local]);
    }
  }
}
