// Rows: y = normalized(x - top, total), top being the row's maximum and total the sum of
// e^(x - top). The kernel gives `fn normalized(shifted: f32, total: f32) -> f32`,
// and a main that calls write_rows.
//
// `lanes` invocations share a row, or of a long row one part, after measure.wgsl has measured the
// parts. A part has fewer elements than the 65,535 loop turns of a lane after which some drivers
// stop silently.

#include "softmax/statistics.wgsl"
#include "include/safe_math.wgsl"

struct Params {
  rows: u32,
  length: u32, // elements of a row
  inner: u32, // the distance between two of them
  parts: u32, // of a row; 1 where this dispatch measures the row itself
  part_size: u32,
  lanes: u32, // a power of two, at most GROUP
}

@group(0) @binding(0) var<storage, read_write> y: array<T_y>;
@group(0) @binding(1) var<storage, read> statistics: array<vec2<f32>>; // [rows, parts]
@group(0) @binding(2) var<uniform> params: Params;

// The part of the work that falls to invocation `local` of a workgroup; all of them must come here
fn write_rows(group: u32, local: u32) {
  let lane = local % params.lanes;
  let number = group * (GROUP / params.lanes) + local / params.lanes;
  let row = number / params.parts;
  let start = row / params.inner * params.inner * params.length + row % params.inner;
  let begin = number % params.parts * params.part_size;
  let end = select(begin, min(begin + params.part_size, params.length), row < params.rows);

  var row_statistics = vec2<f32>(0.0, 0.0);
  if (params.parts == 1u) {
    row_statistics = measure(start, params.inner, begin, end, local, params.lanes);
  } else {
    row_statistics = of_nothing();
    for (var part = 0u; part < params.parts && row < params.rows; part++) {
      row_statistics = joined(row_statistics, statistics[row * params.parts + part]);
    }
  }
  for (var k = begin + lane; k < end; k += params.lanes) {
    let i = start + k * params.inner;
    y[i] = T_y(normalized(f32(load_logits(i)) - row_statistics.x, row_statistics.y));
  }
}
