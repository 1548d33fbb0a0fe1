// y[b, i, j, n] = sum of dy[b, i * stride + k, j * stride + l, o] * filter[k, l, n, o]
//
// The gradient of the deconvolution for x: a convolution of the arriving gradient with a stride.
// One invocation per pixel and channel of x; every tap meets an element of dy.

const GROUP = 64u;

struct Params {
  dy_shape: vec4<u32>,      // batch, height, width, channels out
  filter__shape: vec4<u32>, // height, width, channels in, channels out
  y_shape: vec4<u32>,
  y_size: u32,
  stride: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<T>;
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
  let j = at / sizes[3] % sizes[2];
  let i = at / (sizes[3] * sizes[2]) % sizes[1];
  let image = at / (sizes[3] * sizes[2] * sizes[1]);
  let outer = params.dy_shape;
  let taps = params.filter__shape;

  var total = T(0.0);
  for (var k = 0u; k < taps[0]; k++) {
    let row = (image * outer[1] + i * params.stride + k) * outer[2];
    for (var l = 0u; l < taps[1]; l++) {
      let pixel = (row + j * params.stride + l) * outer[3];
      let weight = ((k * taps[1] + l) * taps[2] + channel) * taps[3];
      for (var o = 0u; o < taps[3]; o++) {
        total += dy[pixel + o] * filter_[weight + o];
      }
    }
  }
  y[at] = total;
}
