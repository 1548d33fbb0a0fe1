// y[k, l, n, o] = sum over b, i, j of x[b, i, j, n] * dy[b, i * stride + k, j * stride + l, o]
//
// The gradient of the deconvolution for the filter. One workgroup per element: its lanes share out
// the pixels of x, and their sums meet in a tree, so rounding grows with the logarithm.

const GROUP = 64u;

struct Params {
  x_shape: vec4<u32>,  // batch, height, width, channels in
  dy_shape: vec4<u32>, // batch, height, width, channels out
  y_shape: vec4<u32>,  // height, width, channels in, channels out
  x_size: u32,
  stride: u32,
}

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> dy: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@group(0) @binding(3) var<uniform> params: Params;

var<workgroup> sums: array<T, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
  let sizes = params.y_shape;
  let outer = params.dy_shape;
  let inner = params.x_shape;
  let channel_out = group.x % sizes[3];
  let channel_in = group.x / sizes[3] % sizes[2];
  let l = group.x / (sizes[3] * sizes[2]) % sizes[1];
  let k = group.x / (sizes[3] * sizes[2] * sizes[1]);

  var total = T(0.0);
  for (var pixel = lane.x; pixel < params.x_size / inner[3]; pixel += GROUP) {
    let column = pixel % inner[2] * params.stride + l;
    let row = pixel / inner[2] % inner[1] * params.stride + k;
    let image = pixel / (inner[2] * inner[1]);
    let under = ((image * outer[1] + row) * outer[2] + column) * outer[3] + channel_out;
    total += x[pixel * inner[3] + channel_in] * dy[under];
  }
  sums[lane.x] = total;
  workgroupBarrier();
  for (var width = GROUP / 2u; width > 0u; width /= 2u) {
    if (lane.x < width) {
      sums[lane.x] += sums[lane.x + width];
    }
    workgroupBarrier();
  }
  if (lane.x == 0u) {
    y[group.x] = sums[0];
  }
}
