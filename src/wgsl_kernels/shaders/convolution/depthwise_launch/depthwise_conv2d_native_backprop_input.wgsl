// y[n, i, j, c] = sum over p, q, m of dy[n, (i + before - p * dilation) / step, .. j, q ..,
//                                        c * multiplier + m] * filter[p, q, c, m],
// over whole quotients, with zeros around dy
//
// dy may be a view, its channels may precede the places (NCHW), and so do y's then. Large
// windows are summed in parts: y is then [parts * batch, ..]. Where channels lie in fours and the
// multiplier is 1, depthwise_conv2d_native_vec4.wgsl does this instead.

const GROUP = 64u;

alias Sum = f32;

struct Params {
  places: vec2<u32>,
  image: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  dilation: vec2<u32>,
  before: vec2<u32>,
  dy_strides: vec4<u32>,
  y_strides: vec4<u32>,
  dy_offset: u32,
  channels_first: u32,
  batch: u32,
  depth: u32, // channels of y
  multiplier: u32, // channels of dy per channel of y
  part_taps: u32, // elements of the window that a part sums
  part_multiples: u32, // channels of dy that it sums of each
  invocations: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<T_dy>;
@group(0) @binding(1) var<storage, read> filter_: array<T_filter_>;
@group(0) @binding(2) var<storage, read_write> y: array<T_y>;
@group(0) @binding(3) var<uniform> params: Params;

// What belongs to n, i, j and c, in this order.
fn steps_of(strides: vec4<u32>) -> vec4<u32> {
  return select(strides, strides.xzwy, params.channels_first != 0u);
}

// The image or part of it, line, column and channel of an invocation; neighbours are next to each
// other in memory.
fn place_of(i: u32) -> vec4<u32> {
  let depth = params.depth;
  if (params.channels_first != 0u) {
    let line = i / params.image.y;
    let plane = line / params.image.x;
    return vec4<u32>(plane / depth, line % params.image.x, i % params.image.y, plane % depth);
  }
  let cell = i / depth;
  let line = cell / params.image.y;
  let image = line / params.image.x;
  return vec4<u32>(image, line % params.image.x, cell % params.image.y, i % depth);
}

fn spread_back(i: u32) {
  if (i >= params.invocations) {
    return;
  }
  let place = place_of(i);
  let channel = place.w;
  let part = place.x / params.batch;
  let across = (params.multiplier + params.part_multiples - 1u) / params.part_multiples;
  let multiple = part % across * params.part_multiples;
  let multiple_end = min(multiple + params.part_multiples, params.multiplier);
  let tap = part / across * params.part_taps;
  let tap_end = min(tap + params.part_taps, params.window.x * params.window.y);
  let steps = steps_of(params.dy_strides);
  let image = params.dy_offset + place.x % params.batch * steps.x;
  // Places are counted from so far before the first that remainders are of positive numbers only:
  // OpenGL leaves those of others open.
  let ahead = params.window * params.dilation;
  let last = place.yz + params.before + ahead * params.step;
  var sum = 0.0;
  var element = vec2<u32>(tap / params.window.y, tap % params.window.y);
  for (var at = tap; at < tap_end; at++) {
    let reach = last - element * params.dilation;
    if (all(reach % params.step == vec2<u32>(0u))) {
      let window = reach / params.step - ahead; // what is negative becomes large
      let inside = all(window < params.places);
      let start = image + select(0u, window.x * steps.y + window.y * steps.z, inside);
      for (var m = multiple; m < multiple_end; m++) {
        let from_channel = channel * params.multiplier + m;
        let weight = filter_[at * params.depth * params.multiplier + from_channel];
        let value = select(0.0, Sum(dy[start + from_channel * steps.w]), inside);
        sum = fma(Sum(weight), value, sum);
      }
    }
    element.y++;
    if (element.y == params.window.y) {
      element = vec2<u32>(element.x + 1u, 0u);
    }
  }
  let terms = vec4<u32>(place.xyz, channel) * steps_of(params.y_strides);
  y[terms.x + terms.y + terms.z + terms.w] = T_y(sum);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  spread_back(id.x + id.y * groups.x * GROUP);
}
