// y[b, r, c, o] = sum of x[b, i, j, n] * filter[k, l, n, o]   where r = i * stride + k, c = j * stride + l
//
// One invocation per element of y gathers what every pixel of x would scatter to it: only the taps
// k of the right remainder meet a pixel, so the loop starts there and goes in steps of the stride.

const GROUP = 64u;

struct Params {
  x_shape: vec4<u32>,       // batch, height, width, channels in
  filter__shape: vec4<u32>, // height, width, channels in, channels out
  y_shape: vec4<u32>,
  y_size: u32,
  stride: u32,
}

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> filter_: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let at = id.x + id.y * groups.x * GROUP;
  if (at >= params.y_size) {
    return;
  }
  let sizes = params.y_shape;
  let channel = at % sizes[3];
  let column = at / sizes[3] % sizes[2];
  let row = at / (sizes[3] * sizes[2]) % sizes[1];
  let image = at / (sizes[3] * sizes[2] * sizes[1]);
  let inner = params.x_shape;
  let taps = params.filter__shape;

  var total = T(0.0);
  for (var k = row % params.stride; k < taps[0] && k <= row; k += params.stride) {
    let i = (row - k) / params.stride;
    for (var l = column % params.stride; l < taps[1] && l <= column; l += params.stride) {
      let j = (column - l) / params.stride;
      if (i < inner[1] && j < inner[2]) {
        let pixel = ((image * inner[1] + i) * inner[2] + j) * inner[3];
        let weight = (k * taps[1] + l) * taps[2];
        for (var n = 0u; n < taps[2]; n++) {
          total += x[pixel + n] * filter_[(weight + n) * taps[3] + channel];
        }
      }
    }
  }
  y[at] = total;
}
