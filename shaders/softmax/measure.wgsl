// statistics[row, part] = (maximum, sum of e^(x - maximum)) of one part of a long row

#include "softmax/statistics.wgsl"
#include "include/safe_math.wgsl"

struct Params {
  rows: u32,
  length: u32, // elements of a row
  inner: u32, // the distance between two of them
  parts: u32, // of a row
  part_size: u32,
}

@group(0) @binding(0) var<storage, read_write> statistics: array<vec2<f32>>; // [rows, parts]
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let number = group.x + group.y * groups.x;
  let row = number / params.parts;
  if (row >= params.rows) { // the same for the whole group
    return;
  }
  let start = row / params.inner * params.inner * params.length + row % params.inner;
  let begin = number % params.parts * params.part_size;
  let end = min(begin + params.part_size, params.length);
  let found = measure(start, params.inner, begin, end, local, GROUP);
  if (local == 0u) {
    statistics[number] = found;
  }
}
