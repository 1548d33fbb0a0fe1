// A depthwise convolution (depthwise.wgsl), four places of a line at a time. Written out, so that
// drivers keep all in registers.

const TILE = 4u;

fn convolve(i: u32) {
  if (i >= params.invocations) {
    return;
  }
  let place = place_of(i);
  let channel = place.w * LANES;
  let first = place.z / spread * spread * TILE + place.z % spread;
  let part = part_at(place.x);
  var number = place.x;
  if (!is_whole) {
    number %= params.batch;
  }
  let steps = steps_of(params.x_strides);
  let image = params.x_offset + number * steps.x + channel / multiplier * steps.w;
  let corner = vec2<i32>(vec2<u32>(place.y, first) * params.step) - params.before;
  let apart = i32(params.apart);
  let next = params.filter_steps.y * turns;
  var sum0 = Value();
  var sum1 = Value();
  var sum2 = Value();
  var sum3 = Value();
  for (var chunk = part.chunk; chunk < part.chunk_end; chunk++) {
    let element = element_of(chunk);
    if (element >= params.window.y) {
      continue;
    }
    let has_second = element + turns < params.window.y;
    let has_third = element + turns * 2u < params.window.y;
    let at = corner.y + i32(element * params.dilation.y);
    let column0 = column_at(at);
    let column1 = column_at(at + apart);
    let column2 = column_at(at + apart * 2);
    let column3 = column_at(at + apart * 3);
    let column4 = column_at(at + apart * 4);
    let column5 = column_at(at + apart * 5);
    let start_of_filter = params.filter_start + element * params.filter_steps.y + channel;
    for (var row = part.row; row < part.row_end; row++) {
      let line = line_at(corner.x + i32(row * params.dilation.x));
      let x0 = load_x(image, line, column0);
      let x1 = load_x(image, line, column1);
      let x2 = load_x(image, line, column2);
      let x3 = load_x(image, line, column3);
      let tap = start_of_filter + row * params.filter_steps.x;
      let weight = load_filter(tap);
      sum0 = fma(weight, x0, sum0);
      sum1 = fma(weight, x1, sum1);
      sum2 = fma(weight, x2, sum2);
      sum3 = fma(weight, x3, sum3);
      if (has_second) {
        let x4 = load_x(image, line, column4);
        let second = load_filter(tap + next);
        sum0 = fma(second, x1, sum0);
        sum1 = fma(second, x2, sum1);
        sum2 = fma(second, x3, sum2);
        sum3 = fma(second, x4, sum3);
        if (has_third) {
          let x5 = load_x(image, line, column5);
          let third = load_filter(tap + next * 2u);
          sum0 = fma(third, x2, sum0);
          sum1 = fma(third, x3, sum1);
          sum2 = fma(third, x4, sum2);
          sum3 = fma(third, x5, sum3);
        }
      }
    }
  }
  store(vec4<u32>(place.xy, first, channel), sum0);
  store(vec4<u32>(place.xy, first + spread, channel), sum1);
  store(vec4<u32>(place.xy, first + spread * 2u, channel), sum2);
  store(vec4<u32>(place.xy, first + spread * 3u, channel), sum3);
}
